// The style sheets as one text. `pi_kernel/widgets/_assets.py` puts them here when it joins the
// modules; in tests of the sources there are none.
export const STYLES = "";
