import { illegalArgument } from '../errors.ts'
import { show } from './read.ts'

/** What a name of a type says. `text` is the name as messages and comparisons have it. */
export interface PrimitiveType {
  readonly kind: string
  readonly text: string
  /** The length of `fixed`, and the scale of `decimal`. */
  readonly length?: number
  readonly scale?: number
}

/** The kinds without parameters. */
const plain = new Map<string, PrimitiveType>(
  [
    'boolean',
    'int',
    'long',
    'float',
    'double',
    'date',
    'time',
    'timestamp',
    'timestamptz',
    'timestamp_ns',
    'timestamptz_ns',
    'string',
    'uuid',
    'binary',
    'unknown',
    'variant',
  ].map((kind) => [kind, { kind, text: kind }]),
)

const fixed = /^fixed\[\s*(\d+)\s*\]$/
const decimal = /^decimal\(\s*(\d+)\s*,\s*(\d+)\s*\)$/
const geometry = /^geometry\s*(?:\(\s*([^)]*?)\s*\))?$/i
const geography = /^geography\s*(?:\(\s*([^,]*?)\s*(?:,\s*(\w*)\s*)?\))?$/i
const edgeAlgorithms = ['spherical', 'vincenty', 'thomas', 'andoyer', 'karney']
/** Longer names say nothing, and take patterns long to reject. */
const maxTypeCharacters = 1_000
const largestInt = 2 ** 31 - 1

/** The version of the format that first had a kind of type. */
export const firstVersions: ReadonlyMap<string, number> = new Map(
  ['timestamp_ns', 'timestamptz_ns', 'variant', 'unknown', 'geometry', 'geography'].map((kind) => [kind, 3]),
)

/** The type that a name says. Fails for a name that the specification does not know. */
export function parsePrimitive(name: string): PrimitiveType {
  const found = plain.get(name)
  if (found !== undefined) return found
  if (name.length <= maxTypeCharacters) {
    const lower = name.toLowerCase()
    const type = plain.get(lower) ?? parseSized(lower) ?? parseGeometry(name) ?? parseGeography(name)
    if (type !== undefined) return type
  }
  throw illegalArgument(`Cannot parse type string to primitive: ${show(name)}`)
}

/** The name to store for a type: the one that was given, or the usual spelling of it. */
export function storedName(name: string): string {
  const { kind, text } = parsePrimitive(name)
  if (kind === 'geometry' || kind === 'geography') return name
  return /^[a-z_]+(\[\d+\]|\(\d+, ?\d+\))?$/.test(name) ? name : text
}

function parseSized(name: string): PrimitiveType | undefined {
  const length = fixed.exec(name)?.[1]
  if (length !== undefined) {
    if (Number(length) > largestInt) throw illegalArgument(`Invalid length of fixed: ${length}`)
    return { kind: 'fixed', text: `fixed[${Number(length)}]`, length: Number(length) }
  }
  const found = decimal.exec(name)
  if (found === null) return undefined
  const [precision, scale] = [Number(found[1]), Number(found[2])]
  if (precision > 38)
    throw illegalArgument(`Decimals with precision larger than 38 are not supported: ${precision}`)
  if (precision < 1 || scale > precision) throw illegalArgument(`Invalid precision and scale: ${name}`)
  return { kind: 'decimal', text: `decimal(${precision}, ${scale})`, scale }
}

function parseGeometry(name: string): PrimitiveType | undefined {
  const found = geometry.exec(name)
  if (found === null) return undefined
  if (found[1] === '') throw illegalArgument('Invalid CRS: (empty string)')
  // Two names of a coordinate system that differ in case only are the same.
  return { kind: 'geometry', text: `geometry(${(found[1] ?? 'OGC:CRS84').toUpperCase()})` }
}

function parseGeography(name: string): PrimitiveType | undefined {
  const found = geography.exec(name)
  if (found === null) return undefined
  if (found[1] === '') throw illegalArgument('Invalid CRS: (empty string)')
  const algorithm = (found[2] ?? 'spherical').toLowerCase()
  if (!edgeAlgorithms.includes(algorithm))
    throw illegalArgument(`Invalid edge interpolation algorithm: ${show(found[2])}`)
  return {
    kind: 'geography',
    text: `geography(${(found[1] ?? 'OGC:CRS84').toUpperCase()}, ${algorithm})`,
  }
}
