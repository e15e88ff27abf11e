"""Live views: what a notebook shows while its kernel lives. `notebook.live` decides when.

Rules, which every view follows:

- **What is saved is static.** A display holds the static form of `pi_kernel.render` alone, inside
  an element whose class names the widget (`place.placed`). The widget's script puts its view in
  front of that form while the kernel lives, and takes it away at the end. So a saved, reopened or
  untrusted notebook has no widget in it, and where there is no widget manager nothing is missing.
- **Hello first.** The script says ``hello`` until the kernel answers ``ack``; before that it shows
  nothing. So both directions are proved, also while a cell runs. `PiWidget.is_live` tells.
- **Messages, not traits.** The kernel sends what changed, at most ten times a second, with the
  last state always sent (`PiWidget.changes`, asked by a timer); a page that is loaded anew says
  hello and gets everything (`PiWidget.whole`). What a person asks for comes as one message with a
  ``type``, on whatever thread, and is handled on the loop that made the widget
  (`PiWidget.receive`).
- **Bounded.** Live text is a tail of at most 16 kB a call and 32 kB a message; rows are sent in
  blocks. The rest is told when somebody opens it. A Jupyter server drops what exceeds 1 MB a
  second for 3 seconds, without a word to either side.
- **Data, not HTML.** Views are made of elements and text nodes from data (`widgets/src/dom.js`).
  HTML crosses only as what `pi_kernel.render` made, escaped, and is built anew from a list of tags
  and styles (`widgets/src/fragment.js`).
- **A frame of its own.** Views stand in a shadow root with the one style sheet that the files
  `widgets/src/*.css` make; every rule is below ``.pi``. Neither the page's styles nor ours leak.

A new kind of view is a module with a store and its views in `widgets/src`, entered in ``KINDS`` of
`widgets/src/main.js`, and a subclass of `PiWidget` here with that ``kind``.
"""
