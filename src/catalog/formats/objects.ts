import * as v from 'valibot'
import type { RequestToSign, SignedRequest } from '../../base/content/signer.ts'
import { invalid } from '../../base/errors.ts'
import { tableIdentifier, text, version } from '../../base/model/fields.ts'
import { type Identifier, quote } from '../../base/model/identifier.ts'
import { askAboutLocation, requireUnclaimed } from '../locations/claim.ts'
import {
  type ContentFolder,
  checkLocation,
  contentFolderOf,
  locationOf,
  type Roots,
} from '../locations/locations.ts'
import { ownObjectId, transactionMarkIn } from '../locations/own-objects.ts'
import { type ContentObject, objectAt } from '../locations/pointers.ts'
import { lookUpTable } from '../lookup/names.ts'
import type { OperationContext } from '../operations/framework/operation.ts'
import { adapterOperation, locationOfTable } from './internal.ts'

/*
 * Objects that a format keeps beside a table's rows, such as metadata files of Iceberg, by their URLs. They lie below
 * the roots that the catalog may read and write.
 */

/** What the error says about a URL that lies below no root of the catalog. */
export const outOfReach = 'is out of reach of this catalog'

const partsOf = v.custom<readonly Uint8Array[]>(
  (value) => Array.isArray(value) && value.every((part) => part instanceof Uint8Array),
  'must be a list of bytes',
)

/** The bytes of an object, or those from `start` up to `end`; undefined when there is no such object. */
export const readObject = adapterOperation({
  like: 'describeTable',
  changes: false,
  request: { id: tableIdentifier, url: text, range: v.optional(v.object({ start: version, end: version })) },
  run: async (core, { url, range }) => {
    const { content, path } = requireObject(core, url)
    return content.get(path, range)
  },
})

/**
 * Asks hooks about the tables at whose locations an object lies, before a new table is to point at it. So nobody learns
 * which objects another table has. Throws `PermissionDenied`.
 */
export const askAboutObject = adapterOperation({
  like: 'registerTable',
  changes: false,
  request: { id: tableIdentifier, url: text },
  run: async (core, { url }) => {
    requireObject(core, url)
    await askAboutLocation(core, 'registerTable', checkLocation(core.contentRoots, url))
  },
})

/**
 * Stores a new object, given in parts, in a folder below the location of its table, and returns its URL. Its name is
 * `before`, a UUID and `after`. Until a version names it, a vacuum removes it once the transaction has ended. Throws
 * `InvalidInput` for a folder elsewhere.
 */
export const putObject = adapterOperation({
  like: 'createTableVersion',
  changes: true,
  request: { id: tableIdentifier, folder: text, before: text, after: text, parts: partsOf },
  run: async (core, { id, folder, before, after, parts }) => {
    const url = `${folder}/${before}${ownObjectId(core)}${after}`
    const { content, path } = requireObject(core, url)
    await requireWithin(core, id, { url, content, path })
    // Nobody knows the name yet. A group writes no other name first, and its syncs overlap.
    const group = content.group?.()
    await (group ?? content).put(path, parts)
    await group?.sync()
    return url
  },
})

/** Removes objects that `putObject` stored and that no version will name, since their transaction was not committed. */
export const removeObjects = adapterOperation({
  like: 'createTableVersion',
  changes: true,
  request: { id: tableIdentifier, urls: v.array(text) },
  run: async (core, { urls }) => {
    for (const url of urls) {
      const object = objectAt(core, url)
      if (object === undefined || transactionMarkIn(core, object.path) === undefined) continue
      await object.content.remove(object.path)
    }
  },
})

/**
 * Makes folders below the location of a table, or below one that a new table may get, for engines that write only to
 * folders that exist. Object stores need none.
 */
export const makeFolders = adapterOperation({
  like: 'registerTable',
  changes: true,
  request: { id: tableIdentifier, location: text, names: v.array(text) },
  run: async (core, { id, location: given, names }) => {
    const location = checkLocation(core.contentRoots, given)
    const { content, prefix } = folderAt(core, location)
    await askAboutLocation(core, 'registerTable', location)
    await core.store.read((reader) => {
      const table = lookUpTable(reader, id)
      if (table === undefined || locationOf(core.contentRoots, table.id, table.record) !== location)
        requireUnclaimed(core, reader, location, 'registerTable')
    })
    for (const name of names) await content.shared?.makeFolder?.(`${prefix}${name}/`)
  },
})

/**
 * What signs requests of clients for objects below the location of a table; undefined where its content signs none. It
 * throws `PermissionDenied` for a request about anything else.
 */
export const tableSigner = adapterOperation({
  like: 'describeTable',
  changes: false,
  request: { id: tableIdentifier },
  run: async ({ store, contentRoots }, { id }): Promise<TableSigner | undefined> => {
    const folder = contentFolderOf(contentRoots, await locationOfTable({ store, contentRoots }, id))
    const sign = folder?.content.sign
    return sign && ((request) => sign(folder.prefix, request))
  },
})

export type TableSigner = (request: RequestToSign) => Promise<SignedRequest>

/** Content of one table must not lie in the folder of another. */
async function requireWithin(
  { store, contentRoots }: OperationContext,
  id: Identifier,
  { url, content, path }: ContentObject & { readonly url: string },
): Promise<void> {
  const location = await locationOfTable({ store, contentRoots }, id)
  const own = folderAt({ contentRoots }, location)
  if (own.content !== content || !path.startsWith(own.prefix))
    throw invalid(
      `${quote(url)} is outside of the location of the table, ${location}. Its metadata files lie below that.`,
    )
}

function requireObject(core: Roots, url: string): ContentObject {
  const at = url.lastIndexOf('/')
  const object = objectAt(core, url)
  if (object !== undefined) return object
  folderAt(core, url.slice(0, at))
  throw invalid(`${quote(url)} names no file. Give the URL of one.`)
}

function folderAt({ contentRoots }: Roots, url: string): ContentFolder {
  const folder = contentFolderOf(contentRoots, url)
  if (folder !== undefined) return folder
  throw invalid(
    `${quote(url)} ${outOfReach}: it reads and writes below ${contentRoots.map(({ url }) => url).join(', ')} only. Choose a location there, or open the catalog with more locationRoots.`,
  )
}
