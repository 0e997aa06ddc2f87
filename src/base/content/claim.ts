import { randomBytes } from 'node:crypto'
import { CatalogError, invalid } from '../errors.ts'
import type { Content } from './content.ts'

/** The object that says whose a content is. */
export const ownerPath = 'catalog.json'

/** Of so many puts of one new object at once, one may win. Services that look first and write then let several win. */
const racers = 8

/** The object by which it is tried whether a content keeps conditions where no catalog owns it. */
export const trialPath = '.tabularium'

/**
 * Makes a catalog the owner of a content that catalogs may share by mistake: a vacuum of one would remove the rows of
 * the other. Refuses the content of another catalog, and a folder `tables/` that is not empty though nobody owns it.
 *
 * It also tries whether an object can be put twice, one after the other, and at once where the object is new. A service
 * that lets that happen could lose what was acknowledged.
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
      throw invalid(
        `${where}tables/ holds objects that belong to no catalog. Give the catalog a prefix of its own.`,
      )
    }
  }
  if (owner !== catalog) throw refuseOwner(where)
  await requireCreateOnly(where, () => putOwner(content, catalog))
  if (winners > 1) throw unsafe(where, 'lets several writers at once create one object')
}

/** Refuses a content that is not a catalog's, and puts nothing there. */
export async function requireOwner(content: Content, where: string, catalog: string): Promise<void> {
  const owner = await ownerOf(content, where)
  if (owner !== undefined && owner !== catalog) throw refuseOwner(where)
}

/**
 * Makes a catalog the owner of a content that was copied from that of another one, with the object that names this one.
 * Harmless when it was interrupted and is done again.
 */
export async function takeOver(content: Content, where: string, from: string, to: string): Promise<void> {
  const owner = await ownerOf(content, where)
  if (owner === from) await content.remove(ownerPath)
  else if (owner !== undefined && owner !== to) throw refuseOwner(where)
  await putOwner(content, to)
  if ((await ownerOf(content, where)) !== to) throw refuseOwner(where)
  await requireCreateOnly(where, () => putOwner(content, to))
}

/** Whose a content is: undefined where nobody says so. Throws for an object there that says nothing of an owner. */
export function contentOwner(content: Content, where: string): Promise<string | undefined> {
  return ownerOf(content, where)
}

/** Whether what is put at one place is seen at another one: both are the same place then. Leaves nothing. */
export async function isOnePlace(written: Content, seen: Content): Promise<boolean> {
  const path = `${trialPath}-${randomBytes(8).toString('hex')}`
  await putNew(written, path, new TextEncoder().encode('removed again at once\n'))
  try {
    return (await seen.get(path)) !== undefined
  } finally {
    await written.remove(path)
  }
}

/** The error for a content that is another catalog's. */
export function refuseOwner(where: string): CatalogError {
  return invalid(
    `${where} belongs to another catalog, as ${ownerPath} says there. Give each catalog a prefix of its own. If that catalog is gone, remove the object.`,
  )
}

/** Takes back a claim of a catalog that was not made after all. A content that it does not own is left alone. */
export async function disclaimContent(content: Content, where: string, catalog: string): Promise<void> {
  const owner = await ownerOf(content, where).catch((error) => {
    // What says nothing of an owner was not put by a claim, and who may not read put nothing.
    if (isForbidden(error) || namesNoOwner(error)) return undefined
    throw error
  })
  if (owner === catalog) await content.remove(ownerPath)
}

/** Refuses a place that another catalog owns: it would be written and emptied by two. */
export async function requireNoOwner(
  { content, where }: { readonly content: Content; readonly where: string },
  catalog: string,
): Promise<void> {
  const owner = await ownerOf(content, where).catch((error) => {
    // Those who may use a prefix need not be able to look above it.
    if (isForbidden(error)) return undefined
    throw error
  })
  if (owner === undefined || owner === catalog) return
  throw invalid(
    `locationRoots: ${where} belongs to another catalog, as ${ownerPath} says there. Name a prefix outside of it.`,
  )
}

/** Refuses a content whose service replaces objects although it is asked not to. */
export async function requireConditions(content: Content, where: string): Promise<void> {
  const trial = () => putNew(content, trialPath, new TextEncoder().encode('objects are created only\n'))
  await requireCreateOnly(where, async () => {
    const isReplaced = (await trial()) && (await trial())
    // What is refused is left as it was, as far as that can be done.
    if (isReplaced) await content.remove(trialPath).catch(() => {})
    return isReplaced
  })
}

/** `putAgain` puts an object that is there, and returns whether it could. */
async function requireCreateOnly(where: string, putAgain: () => Promise<boolean>): Promise<void> {
  // Those who may only read can do no harm.
  const isReplaced = await putAgain().catch((error) => {
    if (isForbidden(error)) return false
    throw error
  })
  if (isReplaced) throw unsafe(where, 'replaces objects although it is asked not to')
}

/** How many of those who put one object at once could. `put` returns whether there was none. */
async function winnersOf(put: () => Promise<boolean>): Promise<number> {
  // Nothing is under way any more when this fails.
  const puts = await Promise.allSettled(Array.from({ length: racers }, put))
  return puts.filter((done) => {
    if (done.status === 'rejected') throw done.reason
    return done.value
  }).length
}

function unsafe(where: string, what: string): CatalogError {
  return new CatalogError(
    'Unsupported',
    `The service of ${where} ${what} (If-None-Match: *). A catalog would not be safe there. Use a service that keeps this condition.`,
  )
}

function isForbidden(error: unknown): boolean {
  return error instanceof CatalogError && error.code === 'PermissionDenied'
}

function namesNoOwner(error: unknown): boolean {
  return error instanceof CatalogError && error.code === 'InvalidTableState'
}

/** Puts the object that tells the owner. Returns whether there was none. */
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
    // Told below.
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
