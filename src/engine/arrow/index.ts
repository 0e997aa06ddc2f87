/*
 * Conversion of rows to and from Arrow without a table: for clients, and for iteration over answers.
 */

export { encodeStream } from './input/encode-stream.ts'
export { type ArrowInput, toArrowTable, toSchema } from './input/input.ts'
export { decodeArrow } from './ipc/decode.ts'
export { tablesOfAnswer } from './ipc/decode-stream.ts'
export { encodeArrow, joinParts } from './ipc/encode.ts'
export { isOpen, typedSchema } from './null-types.ts'
export { plainRows } from './plain-rows.ts'
export { toJsonSchema } from './schema.ts'
