/*
 * The loops of a search, as the bytes of a WebAssembly module. JavaScript has no SIMD instructions, but WebAssembly
 * has. The bytes are the same in every process.
 */

/** Components per iteration of a loop. Vectors are padded with zeros to a multiple, which adds nothing to a sum. */
export const componentsTogether = 8

/** The same for vectors of codes, which are bytes. */
export const codesTogether = 16

/** Bytes of one page of memory. */
const pageBytes = 65_536

const i32 = 0x7f
const f64 = 0x7c
const v128 = 0x7b

/** Parameters of each loop, and the variables behind them. */
const vectors = 0
const end = 1
const rowBytes = 2
const query = 3
const out = 4
const norm = 5
const inQuery = 6
const rowEnd = 7
const value = 8
const sums = [9, 10, 11, 12] as const
const squares = [13, 14, 15, 16] as const

type Code = readonly number[]

const get = (local: number): Code => [0x20, local]
const set = (local: number): Code => [0x21, local]
const tee = (local: number): Code => [0x22, local]
const constant = (bytes: number): Code => [0x41, bytes]
const advance = (local: number, by: Code): Code => [...get(local), ...by, 0x6a, ...set(local)]
const again = (local: number, before: number): Code => [...get(local), ...get(before), 0x49, 0x0d, 0]
const loop = (...body: readonly Code[]): Code => [0x03, 0x40, ...body.flat(), 0x0b]
const simd = (operation: number): Code => [0xfd, ...unsigned(operation)]

const add = simd(0xf0)
const subtract = simd(0xf1)
const multiply = simd(0xf2)
const zero: Code = [...simd(0x0c), ...Array.from({ length: 16 }, () => 0)]
/** Two components of a vector, from 32 to 64 bits. */
const loadVector = (offset: number): Code => [
  ...get(vectors),
  ...simd(0x5d),
  0,
  ...unsigned(offset),
  ...simd(0x5f),
]
const loadQuery = (offset: number): Code => [...get(inQuery), ...simd(0x00), 0, ...unsigned(offset)]
const addTo = (sum: number, product: Code): Code => [
  ...get(sum),
  ...product,
  ...multiply,
  ...add,
  ...set(sum),
]

/** The sum of all components of some pairs. */
const total = ([a, b, c, d]: readonly number[]): Code => [
  ...[...get(a!), ...get(b!), ...add, ...get(c!), ...get(d!), ...add, ...add, ...tee(value)],
  ...[...simd(0x21), 0, ...get(value), ...simd(0x21), 1, 0xa0],
]
const one: Code = [0x44, 0, 0, 0, 0, 0, 0, 0xf0, 0x3f]

interface Loop {
  /** One iteration: adds some components to the sums. */
  readonly step: Code
  /** Bytes of a row, and of the query, that an iteration reads. */
  readonly reads: readonly [row: number, query: number]
  /** Computes the result from the sums, and stores it at the address below it on the stack. */
  readonly result: Code
  readonly resultBytes: number
}

/** The addresses of two components in a row, and in the query, whose components have 64 bits. */
const pairAt = (pair: number) => ({ component: loadVector(pair * 8), other: loadQuery(pair * 16) })

/** A loop over components of 32 bits. `step` adds two components to the sums. */
const ofFloats = (step: (pair: number) => Code, distance: Code): Loop => ({
  step: sums.flatMap((_, pair) => step(pair)),
  reads: [componentsTogether * 4, componentsTogether * 8],
  result: [...distance, 0x39, 3, 0],
  resultBytes: 8,
})

const addIntegers = simd(0xae)
const lane = (index: number): Code => [...get(value), ...simd(0x1b), index]

/** Eight codes of a row, times as many of the query, which have 16 bits. Adds two products to each of four sums. */
const addCodes = (half: number): Code => [
  ...get(sums[half]!),
  ...[...get(vectors), ...simd(0x01), 0, half * 8],
  ...[...loadQuery(half * 16), ...simd(0xba)],
  ...[...addIntegers, ...set(sums[half]!)],
]

const loops: Readonly<Record<'l2' | 'dot' | 'cosine' | 'codes', Loop>> = {
  l2: ofFloats((pair) => {
    const { component, other } = pairAt(pair)
    return addTo(sums[pair]!, [...component, ...other, ...subtract, ...tee(value), ...get(value)])
  }, total(sums)),
  dot: ofFloats(
    (pair) => {
      const { component, other } = pairAt(pair)
      return addTo(sums[pair]!, [...component, ...other])
    },
    [...one, ...total(sums), 0xa1],
  ),
  cosine: ofFloats(
    (pair) => {
      const { component, other } = pairAt(pair)
      return [
        ...[...component, ...set(value)],
        ...addTo(sums[pair]!, [...get(value), ...other]),
        ...addTo(squares[pair]!, [...get(value), ...get(value)]),
      ]
    },
    [...one, ...total(sums), ...total(squares), 0x9f, ...get(norm), 0xa2, 0xa3, 0xa1],
  ),
  codes: {
    step: [...addCodes(0), ...addCodes(1)],
    reads: [codesTogether, codesTogether * 2],
    result: [
      ...[...get(sums[0]), ...get(sums[1]), ...addIntegers, ...set(value)],
      ...[...lane(0), ...lane(1), 0x6a, ...lane(2), ...lane(3), 0x6a, 0x6a, 0x36, 2, 0],
    ],
    resultBytes: 4,
  },
}

/** For each row from `vectors` to `end`, at least one, writes its result to `out`. */
function bodyOf({ step, reads, result, resultBytes }: Loop): Code {
  const locals = [2, ...[2, i32], ...[9, v128]]
  const clear = [...sums, ...squares].flatMap((sum) => [...zero, ...set(sum)])
  const code = loop(
    [...get(query), ...set(inQuery), ...get(vectors), ...get(rowBytes), 0x6a, ...set(rowEnd)],
    clear,
    loop(
      step,
      advance(vectors, constant(reads[0])),
      advance(inQuery, [0x41, ...signed(reads[1])]),
      again(vectors, rowEnd),
    ),
    [...get(out), ...result],
    advance(out, constant(resultBytes)),
    again(vectors, end),
  )
  return sized([...locals, ...code, 0x0b])
}

/** A module that exports its memory of the given number of bytes, a loop for each measure, and one for codes. */
export function simdModule(memoryBytes: number): Uint8Array<ArrayBuffer> {
  const names = Object.keys(loops)
  const parameters = [i32, i32, i32, i32, i32, f64]
  const exports = names.map((name, i) => [...text(name), 0x00, i])
  return Uint8Array.from([
    ...[0x00, 0x61, 0x73, 0x6d, 1, 0, 0, 0],
    ...section(1, [[0x60, parameters.length, ...parameters, 0]]),
    ...section(
      3,
      names.map(() => [0]),
    ),
    ...section(5, [[0x00, ...unsigned(Math.ceil(memoryBytes / pageBytes))]]),
    ...section(7, [[...text('memory'), 0x02, 0], ...exports]),
    ...section(10, Object.values(loops).map(bodyOf)),
  ])
}

function section(id: number, items: readonly Code[]): Code {
  return [id, ...sized([...unsigned(items.length), ...items.flat()])]
}

function sized(bytes: Code): Code {
  return [...unsigned(bytes.length), ...bytes]
}

function text(name: string): Code {
  return sized([...new TextEncoder().encode(name)])
}

/** LEB128. */
function unsigned(value: number): Code {
  return value < 0x80 ? [value] : [(value & 0x7f) | 0x80, ...unsigned(value >>> 7)]
}

/** LEB128 of a number that is not negative, with a bit for the sign. */
function signed(value: number): Code {
  return value < 0x40 ? [value] : [(value & 0x7f) | 0x80, ...signed(value >>> 7)]
}
