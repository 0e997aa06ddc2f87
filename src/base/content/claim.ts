import { randomBytes } from 'node:crypto'
import { CatalogError, invalid, unsupported } from '../errors.ts'
import type { Content } from './content.ts'

/** The object that names the catalog that owns a content. */
export const ownerPath = 'catalog.json'

/** How many concurrent puts try one new object. A service that checks first and writes then lets several win. */
const racers = 8

/** The object that tests whether a content keeps conditions, where no catalog owns the content. */
export const trialPath = '.tabularium'

/**
 * Makes a catalog the owner of a content. Catalogs could share a content by mistake: a vacuum of one would then remove
 * the rows of the other. Refuses the content of another catalog, and a non-empty folder `tables/` without an owner.
 *
 * Also tests whether an object can be put twice, one after the other, and concurrently where the object is new. A
 * service that allows that could lose acknowledged changes.
 */
export async function claimContent(content: Content, where: string, catalog: string): Promise<void> {
  let owner = await ownerOf(content, where)
  let winners = 0
  if (owner === undefined) {
    const isFree = await isEmpty(content, 'tables/')
    if (isFree) winners = await winnersOf(() => putOwner(content, catalog))
    // Another process may have opened the same new catalog meanwhile.
    owner = await ownerOf(content, where)
    if (owner === undefined && !isFree) {
      throw refuseStray(where)
    }
  }
  if (owner !== catalog) throw refuseOwner(where)
  await requireCreateOnly(where, () => putOwner(content, catalog))
  if (winners > 1) throw unsafe(where, 'lets several writers at once create one object')
}

/** Why a new catalog could not claim a content. Undefined where it could. Writes nothing. */
export async function claimRefusal(content: Content, where: string): Promise<CatalogError | undefined> {
  if ((await ownerOf(content, where)) !== undefined) return refuseOwner(where)
  return (await isEmpty(content, 'tables/')) ? undefined : refuseStray(where)
}

function refuseStray(where: string): CatalogError {
  return invalid(
    `${where}tables/ holds objects that belong to no catalog. Give the catalog a prefix of its own.`,
  )
}

/** Refuses a content that another catalog owns. Writes nothing. */
export async function requireOwner(content: Content, where: string, catalog: string): Promise<void> {
  const owner = await ownerOf(content, where)
  if (owner !== undefined && owner !== catalog) throw refuseOwner(where)
}

/**
 * Makes a catalog the owner of a content that was copied from another catalog's, and still names that one. Can be
 * repeated after an interruption.
 */
export async function takeOver(content: Content, where: string, from: string, to: string): Promise<void> {
  const owner = await ownerOf(content, where)
  if (owner === from) await content.remove(ownerPath)
  else if (owner !== undefined && owner !== to) throw refuseOwner(where)
  await putOwner(content, to)
  if ((await ownerOf(content, where)) !== to) throw refuseOwner(where)
  await requireCreateOnly(where, () => putOwner(content, to))
}

/** The id of the catalog that owns a content, if any. Throws when the owner's object is malformed. */
export function contentOwner(content: Content, where: string): Promise<string | undefined> {
  return ownerOf(content, where)
}

/** Whether two contents are the same storage, tested with an object that is removed again. */
export async function isSameStorage(written: Content, seen: Content): Promise<boolean> {
  const path = `${trialPath}-${randomBytes(8).toString('hex')}`
  await putNew(written, path, new TextEncoder().encode('removed again at once\n'))
  try {
    return (await seen.get(path)) !== undefined
  } finally {
    await written.remove(path)
  }
}

/** The error for a content that another catalog owns. */
export function refuseOwner(where: string): CatalogError {
  return invalid(
    `${where} belongs to another catalog, as ${ownerPath} says there. Give each catalog a prefix of its own. If that catalog is gone, remove the object.`,
  )
}

/** Removes the claim of a catalog whose creation failed. Keeps a content with another owner. */
export async function disclaimContent(content: Content, where: string, catalog: string): Promise<void> {
  const owner = await ownerOf(content, where).catch((error) => {
    // No claim puts an object without an owner, and a user who may not read put nothing.
    if (isForbidden(error) || namesNoOwner(error)) return undefined
    throw error
  })
  if (owner === catalog) await content.remove(ownerPath)
}

/** Refuses a location that another catalog owns: both would write there, and each would remove the other's objects. */
export async function requireNoOwner(
  { content, where }: { readonly content: Content; readonly where: string },
  catalog: string,
): Promise<void> {
  const owner = await ownerOf(content, where).catch((error) => {
    // A user of a prefix may lack the permission to read above it.
    if (isForbidden(error)) return undefined
    throw error
  })
  if (owner === undefined || owner === catalog) return
  throw invalid(
    `locationRoots: ${where} belongs to another catalog, as ${ownerPath} says there. Name a prefix outside of it.`,
  )
}

/** Refuses a content whose service replaces objects despite the condition. */
export async function requireConditions(content: Content, where: string): Promise<void> {
  const trial = () => putNew(content, trialPath, new TextEncoder().encode('objects are created only\n'))
  await requireCreateOnly(where, async () => {
    const isReplaced = (await trial()) && (await trial())
    // Leave a refused content as it was, as far as possible.
    if (isReplaced) await content.remove(trialPath).catch(() => {})
    return isReplaced
  })
}

/** `putAgain` puts an object that exists, and returns whether the put succeeded. */
async function requireCreateOnly(where: string, putAgain: () => Promise<boolean>): Promise<void> {
  // A user who may only read cannot replace anything.
  const isReplaced = await putAgain().catch((error) => {
    if (isForbidden(error)) return false
    throw error
  })
  if (isReplaced) throw unsafe(where, 'replaces objects although it is asked not to')
}

/** How many of several concurrent puts of one object succeeded. `put` returns whether there was no object. */
async function winnersOf(put: () => Promise<boolean>): Promise<number> {
  // All puts have settled when this fails.
  const puts = await Promise.allSettled(Array.from({ length: racers }, put))
  return puts.filter((done) => {
    if (done.status === 'rejected') throw done.reason
    return done.value
  }).length
}

function unsafe(where: string, what: string): CatalogError {
  return unsupported(
    `The service of ${where} ${what} (If-None-Match: *). A catalog would not be safe there.`,
    'Use a service that keeps this condition.',
  )
}

function isForbidden(error: unknown): boolean {
  return error instanceof CatalogError && error.code === 'PermissionDenied'
}

function namesNoOwner(error: unknown): boolean {
  return error instanceof CatalogError && error.code === 'InvalidTableState'
}

/** Puts the object that names the owner. Returns whether there was none. */
function putOwner(content: Content, catalog: string): Promise<boolean> {
  return putNew(content, ownerPath, new TextEncoder().encode(`${JSON.stringify({ format: 1, catalog })}\n`))
}

/** Puts an object. Returns whether there was none. */
export async function putNew(content: Content, path: string, bytes: Uint8Array): Promise<boolean> {
  try {
    await content.put(path, bytes)
    return true
  } catch (error) {
    if (error instanceof CatalogError && error.code === 'ConcurrentModification') return false
    throw error
  }
}

async function ownerOf(content: Content, where: string): Promise<string | undefined> {
  const bytes = await content.get(ownerPath)
  if (bytes === undefined) return undefined
  try {
    const { catalog } = JSON.parse(new TextDecoder().decode(bytes)) as { catalog?: unknown }
    if (typeof catalog === 'string') return catalog
  } catch {
    // The error is thrown below.
  }
  throw new CatalogError(
    'InvalidTableState',
    `${where}${ownerPath} does not say whose content this is. Give the catalog a prefix of its own.`,
  )
}

async function isEmpty(content: Content, prefix: string): Promise<boolean> {
  for await (const _ of content.list(prefix)) return false
  return true
}
