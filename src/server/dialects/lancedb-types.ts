import type { ClientRules, UnreadableColumn } from '../../catalog/rows/client-rules.ts'

/*
 * LanceDB's remote client decodes the columns of a table from their type names, and knows fewer names than Arrow has
 * types. An equivalent known type replaces an unknown one in descriptions and results. Columns of other types are
 * refused at creation, as LanceDB does for its own tables.
 */

type Field = Parameters<ClientRules['plain']>[0]
type FieldType = Field['type']

const texts = ['string', 'large_string', 'binary', 'large_binary']
const numbers = ['int8', 'int16', 'int32', 'int64', 'uint8', 'uint16', 'uint32', 'uint64']
const floats = ['halffloat', 'float', 'double']

/** Types that the client knows, by full name. */
const known: ReadonlySet<string> = new Set([
  ...['null', 'bool', ...numbers, ...floats, ...texts],
  ...['date32:day', 'date64:ms', 'fixed_size_binary'],
  ...['list', 'large_list', 'fixed_size_list', 'struct'],
])

/** Known types whose names have parameters. */
const knownWithParameters: ReadonlySet<string> = new Set([
  'time32',
  'time64',
  'timestamp',
  'duration',
  'decimal',
  'dict',
])

/** Types with an equivalent that the client knows. */
const plainNames: ReadonlyMap<string, string> = new Map([
  ['string_view', 'string'],
  ['binary_view', 'binary'],
  ['list_view', 'list'],
  ['large_list_view', 'large_list'],
])

/** Advice for types that the client does not know, by the start of their names. */
const instead: ReadonlyMap<string, readonly [called: string, instead: string]> = new Map([
  ['map', ['a map', 'a list of structs with the fields "key" and "value"']],
  ['interval', ['an interval', 'a duration, or a struct of integers']],
  ['sparse_union', ['a union', 'a struct with a field for each kind of value']],
  ['dense_union', ['a union', 'a struct with a field for each kind of value']],
  ['run_end_encoded', ['run-end encoded', 'the values as they are, or a dictionary']],
  ['dictionary', ['a dictionary of nested values', 'the values as they are']],
])

/** The value types of dictionaries that the client knows: those without parameters. */
const dictionaryValues: ReadonlySet<string> = new Set([...numbers, ...floats, ...texts, 'bool', 'null'])

/** An extension type that the client's companion library decodes to objects, from which the client cannot make rows. */
const blobs = 'lance.blob.v2'

/** The requirements of LanceDB's remote client for columns. */
export const lancedbRules: ClientRules = {
  comparesColumns: true,
  plain,
  unreadable(fields) {
    for (const field of fields) {
      const found = faultOf(field, field.name)
      if (found !== undefined) return found
    }
    return undefined
  },
}

function plain(field: Field): Field {
  const type = plainType(field.type)
  return type === field.type ? field : { ...field, type }
}

function plainType(type: FieldType): FieldType {
  const { type: name, fields } = type
  const plainName = plainNames.get(name) ?? withKnownParameters(name)
  const plainFields = fields?.map(plain)
  const isSame = plainName === name && (fields ?? []).every((field, i) => field === plainFields![i])
  return isSame ? type : { ...type, type: plainName, ...(plainFields && { fields: plainFields }) }
}

/** Widens decimals of 32 and 64 bits. Removes the colon of time zone offsets, because the client splits at it. */
function withKnownParameters(name: string): string {
  return name
    .replace(/^decimal:(?:32|64):/, 'decimal:128:')
    .replace(/^(timestamp:\w+:[+-]\d\d):(\d\d)$/, '$1$2')
}

function faultOf(field: Field, path: string): UnreadableColumn | undefined {
  if (field.metadata?.['ARROW:extension:name'] === blobs)
    return { path, fault: cannotRead('a blob'), instead: 'large_binary' }
  const { type, fields } = plainType(field.type)
  const [kind = type, ...parameters] = type.split(':')
  if (kind === 'timestamp' && parameters.length !== 2) {
    const fault = cannotRead(`a timestamp in the zone ${parameters.slice(1).join(':')}`)
    return { path, fault, instead: 'a zone such as UTC, Europe/Berlin or +0530' }
  }
  if (kind === 'dict' && !(parameters.length === 3 && dictionaryValues.has(parameters[0]!))) {
    const fault = cannotRead(`a dictionary whose values are ${parameters.slice(0, -2).join(':')}`)
    return { path, fault, instead: 'the values as they are, or a dictionary of strings or numbers' }
  }
  if (!known.has(type) && !knownWithParameters.has(kind)) {
    const [called, other] = instead.get(kind) ?? [`of type ${type}`, 'another type']
    return { path, fault: cannotRead(called), instead: other }
  }
  for (const child of fields ?? []) {
    const found = faultOf(child, `${path}.${child.name}`)
    if (found !== undefined) return found
  }
  return undefined
}

function cannotRead(called: string): string {
  return `is ${called}, which LanceDB's clients cannot read`
}
