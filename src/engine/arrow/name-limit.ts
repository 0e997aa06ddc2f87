import { invalid } from '../../base/errors.ts'
import { quote } from '../../base/model/identifier.ts'
import { maxHashed } from '../../base/model/utf8.ts'

/** Returns the name of a field or of metadata. Refuses one that would be slow in a `Map`. */
export function requireShort(name: string): string {
  if (name.length <= maxHashed) return name
  const lengths = `${name.length.toLocaleString('en')} characters, and ${maxHashed.toLocaleString('en')} are the most`
  throw invalid(`The name ${quote(name)} in the schema has ${lengths}. Shorten it.`)
}
