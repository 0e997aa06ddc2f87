/** The precedence of operators, with the reference's numbers. Source: `Dialect::prec_value` of sqlparser-rs 0.62. */
export const precedence = {
  cast: 50,
  multiply: 40,
  add: 30,
  shift: 22,
  pipe: 21,
  compare: 20,
  like: 19,
  is: 17,
  not: 15,
  and: 10,
  or: 5,
  none: 0,
} as const
