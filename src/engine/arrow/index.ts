/*
 * Rows in and out of Arrow, for those who have no table: clients, and iterations over answers.
 */

export { type ArrowInput, toArrowTable, toSchema } from './input/input.ts'
export { decodeArrow } from './ipc/decode.ts'
export { encodeArrow, joinParts } from './ipc/encode.ts'
export { plainRows } from './plain-rows.ts'
export { toJsonSchema } from './schema.ts'
