import * as v from 'valibot'
import { invalid } from '../../base/errors.ts'
import { tableIdentifier, text, version } from '../../base/model/fields.ts'
import { quote } from '../../base/model/identifier.ts'
import { type ContentFolder, contentFolderOf, type Roots } from '../locations/locations.ts'
import { adapterOperation } from './internal.ts'

/*
 * Objects that a format keeps beside a table's rows, such as metadata files of Iceberg, by their URLs. They lie below
 * the roots that the catalog may read and write.
 */

const bytesOf = v.custom<Uint8Array>((value) => value instanceof Uint8Array, 'must be bytes')

/** The bytes of an object, or only the first `most` of them; undefined when there is no such object. */
export const readObject = adapterOperation({
  like: 'describeTable',
  changes: false,
  request: { id: tableIdentifier, url: text, most: v.optional(version) },
  run: async (core, { url, most }) => {
    const { content, prefix, name } = objectAt(core, url)
    return content.get(prefix + name, most === undefined ? undefined : { start: 0, end: most })
  },
})

/** Stores a new object. Throws `ConcurrentModification` when there is one with that URL. */
export const putObject = adapterOperation({
  like: 'createTableVersion',
  changes: true,
  request: { id: tableIdentifier, url: text, bytes: bytesOf },
  run: async (core, { url, bytes }) => {
    const { content, prefix, name } = objectAt(core, url)
    await content.put(prefix + name, bytes)
  },
})

/** Makes folders below a location, for engines that write only to folders that exist. Object stores need none. */
export const makeFolders = adapterOperation({
  like: 'declareTable',
  changes: true,
  request: { id: tableIdentifier, location: text, names: v.array(text) },
  run: async (core, { location, names }) => {
    const { content, prefix } = folderAt(core, location)
    for (const name of names) await content.shared?.makeFolder?.(`${prefix}${name}/`)
  },
})

function objectAt({ contentRoots }: Roots, url: string): ContentFolder & { readonly name: string } {
  const at = url.lastIndexOf('/')
  const name = url.slice(at + 1)
  if (name === '' || name === '..') throw invalid(`${quote(url)} names no file. Give the URL of one.`)
  return { ...folderAt({ contentRoots }, url.slice(0, at)), name }
}

function folderAt({ contentRoots }: Roots, url: string): ContentFolder {
  const folder = contentFolderOf(contentRoots, url)
  if (folder !== undefined) return folder
  throw invalid(
    `${quote(url)} is out of reach of this catalog: it reads and writes below ${contentRoots.map(({ url }) => url).join(', ')} only. Choose a location there, or open the catalog with more locationRoots.`,
  )
}
