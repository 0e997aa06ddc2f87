import { type DataType, type Field, Type } from '@uwdata/flechette'

const units = ['s', 'ms', 'us', 'ns'] as const

/**
 * A name that identifies a type: two types are equal exactly if their names are. Ids of dictionaries and metadata of
 * nested fields are ignored. With `loose`, so are the nullability of nested fields and the names of items of lists and
 * maps, on which writers disagree.
 */
export function typeName(type: DataType, loose = false): string {
  const fieldName = (field: Field, named = true): string => {
    const name = loose && !named ? '' : `${JSON.stringify(field.name)}: `
    return `${name}${typeName(field.type, loose)}${field.nullable || loose ? '' : ' not null'}`
  }
  const item = (field: Field) => fieldName(field, false)
  switch (type.typeId) {
    case Type.Null:
      return 'null'
    case Type.Bool:
      return 'bool'
    case Type.Int:
      return `${type.signed ? '' : 'u'}int${type.bitWidth}`
    case Type.Float:
      return (['halffloat', 'float', 'double'] as const)[type.precision]
    case Type.Binary:
      return 'binary'
    case Type.LargeBinary:
      return 'large_binary'
    case Type.BinaryView:
      return 'binary_view'
    case Type.Utf8:
      return 'string'
    case Type.LargeUtf8:
      return 'large_string'
    case Type.Utf8View:
      return 'string_view'
    case Type.Decimal:
      return `decimal:${type.bitWidth}:${type.precision}:${type.scale}`
    case Type.Date:
      return type.unit === 0 ? 'date32:day' : 'date64:ms'
    case Type.Time:
      return `time${type.bitWidth}:${units[type.unit]}`
    case Type.Timestamp:
      return `timestamp:${units[type.unit]}:${type.timezone ?? '-'}`
    case Type.Duration:
      return `duration:${units[type.unit]}`
    case Type.Interval:
      return `interval:${(['year_month', 'day_time', 'month_day_nano'] as const)[type.unit]}`
    case Type.FixedSizeBinary:
      return `fixed_size_binary:${type.stride}`
    case Type.List:
      return `list<${item(type.children[0])}>`
    case Type.LargeList:
      return `large_list<${item(type.children[0])}>`
    case Type.ListView:
      return `list_view<${item(type.children[0])}>`
    case Type.LargeListView:
      return `large_list_view<${item(type.children[0])}>`
    case Type.FixedSizeList:
      return `fixed_size_list:${type.stride}<${type.children.map(item).join(', ')}>`
    case Type.Struct:
      return `struct<${type.children.map((field) => fieldName(field)).join(', ')}>`
    case Type.Map: {
      const [entries] = type.children
      const pair =
        loose && entries.type.typeId === Type.Struct
          ? entries.type.children.map(item).join(', ')
          : fieldName(entries)
      return `map${type.keysSorted ? ':sorted' : ''}<${pair}>`
    }
    case Type.RunEndEncoded:
      return `run_end_encoded<${type.children.map(item).join(', ')}>`
    case Type.Union: {
      const members = type.children.map((field, i) => `${type.typeIds[i]}=${fieldName(field)}`)
      return `${type.mode === 0 ? 'sparse' : 'dense'}_union<${members.join(', ')}>`
    }
    case Type.Dictionary:
      return `dictionary<${typeName(type.indices)}, ${typeName(type.dictionary, loose)}>`
    default:
      return `type ${(type as { typeId: number }).typeId}`
  }
}
