// Public names of `tabularium/testing`, listed by hand.
export {}
