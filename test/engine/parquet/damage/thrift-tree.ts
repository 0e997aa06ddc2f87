/*
 * Thrift's compact protocol as a tree that can be changed and written again, lies included. It keeps the type of each
 * field, which the reader of the library does not.
 */

/** A value with its type on the wire. */
export type Thrift =
  | { kind: 'bool'; value: number }
  | { kind: 'byte'; value: number }
  | { kind: 'number'; wire: number; value: bigint }
  | { kind: 'double'; value: Uint8Array }
  | { kind: 'binary'; value: Uint8Array }
  | { kind: 'list'; item: number; items: Thrift[] }
  | ThriftStruct

export interface ThriftStruct {
  kind: 'struct'
  fields: Map<number, Thrift>
}

const [boolTrue, boolFalse, byte, i16, i64, double, binary, list, struct] = [1, 2, 3, 4, 6, 7, 8, 9, 12]

/** The struct at a place of bytes, and where it ends. */
export function parseThrift(bytes: Uint8Array, from: number): { struct: ThriftStruct; end: number } {
  let at = from
  const varint = () => {
    for (let value = 0n, shift = 0n; ; shift += 7n) {
      const next = BigInt(bytes[at++]!)
      value |= (next & 127n) << shift
      if (next < 128n) return value
    }
  }
  const zigzag = () => {
    const value = varint()
    return (value >> 1n) ^ -(value & 1n)
  }
  const taken = (count: number) => {
    at += count
    return bytes.slice(at - count, at)
  }
  const readValue = (wire: number, inList: boolean): Thrift => {
    if (wire === boolTrue || wire === boolFalse)
      return { kind: 'bool', value: inList ? bytes[at++]! : Number(wire === boolTrue) }
    if (wire === byte) return { kind: 'byte', value: bytes[at++]! }
    if (wire >= i16 && wire <= i64) return { kind: 'number', wire, value: zigzag() }
    if (wire === double) return { kind: 'double', value: taken(8) }
    if (wire === binary) return { kind: 'binary', value: taken(Number(varint())) }
    if (wire === struct) return structAt()
    if (wire !== list) throw new Error(`no wire type ${wire}`)
    const head = bytes[at++]!
    const size = head >> 4 === 15 ? Number(varint()) : head >> 4
    const item = head & 15
    return { kind: 'list', item, items: Array.from({ length: size }, () => readValue(item, true)) }
  }
  const structAt = (): ThriftStruct => {
    const fields = new Map<number, Thrift>()
    for (let id = 0; ; ) {
      const head = bytes[at++]!
      if (head === 0) return { kind: 'struct', fields }
      id = head >> 4 === 0 ? Number(zigzag()) : id + (head >> 4)
      fields.set(id, readValue(head & 15, false))
    }
  }
  return { struct: structAt(), end: at }
}

/** The bytes of a struct. */
export function writeThrift(given: ThriftStruct): Uint8Array {
  const out: number[] = []
  const varint = (value: bigint) => {
    let rest = BigInt.asUintN(64, value)
    for (; rest > 127n; rest >>= 7n) out.push(Number(rest & 127n) | 128)
    out.push(Number(rest))
  }
  const zigzag = (value: bigint) => varint((value << 1n) ^ (value >> 63n))
  const putValue = (value: Thrift, inList: boolean) => {
    if (value.kind === 'bool') {
      if (inList) out.push(value.value)
    } else if (value.kind === 'byte') out.push(value.value)
    else if (value.kind === 'number') zigzag(value.value)
    else if (value.kind === 'double') out.push(...value.value)
    else if (value.kind === 'struct') putStruct(value)
    else if (value.kind === 'binary') {
      varint(BigInt(value.value.length))
      for (const part of value.value) out.push(part)
    } else {
      const { items, item } = value
      out.push((Math.min(items.length, 15) << 4) | item)
      if (items.length >= 15) varint(BigInt(items.length))
      for (const each of items) putValue(each, true)
    }
  }
  const putStruct = ({ fields }: ThriftStruct) => {
    let last = 0
    for (const [id, value] of [...fields].sort(([a], [b]) => a - b)) {
      const wire = wireOf(value)
      if (id - last > 0 && id - last < 16) out.push(((id - last) << 4) | wire)
      else {
        out.push(wire)
        zigzag(BigInt(id))
      }
      last = id
      putValue(value, false)
    }
    out.push(0)
  }
  putStruct(given)
  return Uint8Array.from(out)
}

function wireOf(value: Thrift): number {
  switch (value.kind) {
    case 'bool':
      return value.value === 1 ? boolTrue! : boolFalse!
    case 'number':
      return value.wire
    default:
      return { byte, double, binary, list, struct }[value.kind]!
  }
}

/** All structs of a tree, itself first, each with the fields and items that lead there. */
export function structsOf(value: Thrift, path = ''): { struct: ThriftStruct; path: string }[] {
  if (value.kind === 'list') return value.items.flatMap((item, i) => structsOf(item, `${path}[${i}]`))
  if (value.kind !== 'struct') return []
  const within = [...value.fields].flatMap(([id, field]) => structsOf(field, `${path}.${id}`))
  return [{ struct: value, path }, ...within]
}

export function numberOf(of: ThriftStruct, id: number): number {
  const value = of.fields.get(id)
  return value?.kind === 'number' ? Number(value.value) : 0
}

export function setNumber(of: ThriftStruct, id: number, value: number): void {
  const field = of.fields.get(id)
  if (field?.kind === 'number') field.value = BigInt(value)
}

export function structIn(of: ThriftStruct, id: number): ThriftStruct {
  return of.fields.get(id) as ThriftStruct
}

export function itemsOf(of: ThriftStruct, id: number): ThriftStruct[] {
  const value = of.fields.get(id)
  return value?.kind === 'list' ? (value.items as ThriftStruct[]) : []
}
