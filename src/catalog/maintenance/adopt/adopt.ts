import type { Content, ListedObject } from '../../../base/content/content.ts'
import { CatalogError } from '../../../base/errors.ts'
import { ByteBudget } from '../../../base/scheduling/byte-budget.ts'
import { keys } from '../../../base/store/records.ts'
import type { Writer } from '../../../base/store/store.ts'
import { type ContentRoot, segmentsOf } from '../../locations/locations.ts'
import { copiedPaths } from '../backup/copied-paths.ts'
import type { FileToCopy } from '../backup/copy-files.ts'
import type { MaintenanceContext } from '../context.ts'
import { relocate } from '../relocate.ts'
import { verify } from '../verify/verify.ts'
import type { AdoptCounts } from './report.ts'

/**
 * Copies all objects that a catalog needs into a content, unless they exist there, and verifies them. `coreOver` opens
 * the catalog with the given content as that of the original.
 */
export async function fillContent(
  coreOver: (content: Content) => MaintenanceContext,
  contents: TwoContents,
  report: AdoptCounts,
  { signal, onProgress }: { signal: AbortSignal | undefined; onProgress: () => void },
): Promise<void> {
  const core = coreOver(throughBoth(contents))
  try {
    const paths = copiedPaths(core, (_, isInside) => {
      report.tables++
      if (!isInside) report.elsewhere++
    })
    const onObject = (bytes: number | undefined) => {
      report.objects++
      if (bytes !== undefined) {
        report.copied++
        report.bytes += bytes
      }
      onProgress()
    }
    await fill(contents, paths, { signal, onObject })
  } finally {
    await core.closeEngines()
  }
  await requireWhole(coreOver(contents.target), signal)
}

async function requireWhole(core: MaintenanceContext, signal: AbortSignal | undefined): Promise<void> {
  try {
    const { findings } = await verify(core, { quick: true, store: false, signal })
    const broken = findings.filter(({ severity, kind }) => severity === 'problem' && kind === 'content')
    if (broken.length === 0) return
    throw new CatalogError(
      'InvalidTableState',
      `Rows are missing or damaged where they are to lie, in ${broken.length === 1 ? 'one place' : `${broken.length} places`}. The first: ${broken[0]!.message} Nothing of the catalog was changed.`,
    )
  } finally {
    await core.closeEngines()
  }
}

/**
 * Moves the records of a catalog to the content at a new root. Content that waits outside of the old one belongs to the
 * original.
 */
export function moveRecords(writer: Writer, roots: readonly ContentRoot[], to: string): void {
  relocate(writer, roots, to)
  const kept = segmentsOf(to)
  for (const { key } of [...writer.range({ prefix: keys.registrations })]) {
    if (!kept.every((segment, i) => key[i + 1] === segment)) writer.remove(key)
  }
}

/** Objects copied at the same time, and the most bytes of them. One larger object is copied alone. */
const concurrency = 8
const mostBytes = 256 * 1024 * 1024

/** The folders whose objects are remembered. */
const maxFolders = 16

/** The content for the rows, and the content that has them, if that can be read. */
interface TwoContents {
  readonly target: Content
  readonly source: Content | undefined
}

/** Reads from the target, and else from the source. Refuses writes. */
function throughBoth({ target, source }: TwoContents): Content {
  const refuse = () => Promise.reject(new CatalogError('Internal', 'Only reads were expected here.'))
  return {
    get: async (path, range) => (await target.get(path, range)) ?? (await source?.get(path, range)),
    async *list(prefix) {
      const seen = new Set<string>()
      for (const content of [source, target]) {
        if (content === undefined) continue
        for await (const found of content.list(prefix)) {
          if (seen.has(found.path) || found.path.endsWith('.partial')) continue
          seen.add(found.path)
          yield found
        }
      }
    },
    put: refuse,
    remove: refuse,
  }
}

/**
 * Copies objects that the target lacks. Existing ones stay as they are, so that this continues an earlier run.
 * `onObject` gets the bytes of each object; undefined for one that existed.
 */
async function fill(
  contents: TwoContents,
  objects: AsyncIterable<FileToCopy>,
  { signal, onObject }: { signal: AbortSignal | undefined; onObject: (bytes: number | undefined) => void },
): Promise<void> {
  const copier = new ObjectCopier(contents)
  const next = objects[Symbol.asyncIterator]()
  const worker = async () => {
    for (let item = await next.next(); !item.done; item = await next.next()) {
      signal?.throwIfAborted()
      onObject(await copier.copy(item.value, signal))
    }
  }
  // All workers have ended when this fails: nothing is written after that.
  const ended = await Promise.allSettled(Array.from({ length: concurrency }, worker))
  for (const one of ended) if (one.status === 'rejected') throw one.reason
}

class ObjectCopier {
  readonly #target: Listing
  readonly #source: Listing | undefined
  readonly #contents: TwoContents
  readonly #budget = new ByteBudget(mostBytes, Number.POSITIVE_INFINITY)

  constructor(contents: TwoContents) {
    this.#contents = contents
    this.#target = new Listing(contents.target)
    this.#source = contents.source && new Listing(contents.source)
  }

  /** Returns the number of copied bytes; undefined when nothing had to be copied. */
  async copy({ path, needed }: FileToCopy, signal: AbortSignal | undefined): Promise<number | undefined> {
    const there = await this.#target.sizeOf(path)
    const size = await this.#source?.sizeOf(path)
    if (there !== undefined) {
      if (size !== undefined && size !== there) throw different(path, there, size)
      return undefined
    }
    if (size === undefined) {
      if (needed) throw this.#missing(path)
      return undefined
    }
    const hold = this.#budget.hold()
    await hold.take(Math.min(size, mostBytes), signal)
    try {
      const bytes = await this.#contents.source!.get(path)
      if (bytes === undefined) throw this.#missing(path)
      const { putNew } = await import('../../../base/content/claim.ts')
      // Another process copied it meanwhile.
      if (!(await putNew(this.#contents.target, path, bytes))) return undefined
      this.#target.add(path, bytes.length)
      return bytes.length
    } finally {
      hold.release()
    }
  }

  #missing(path: string): CatalogError {
    const where =
      this.#source === undefined
        ? 'where they are to lie, and the content of the original cannot be read from here. Copy the content there, or let this user read that of the original.'
        : 'where they are to lie, nor in the content of the original, which removed them since. Make the dump anew, and do all of this under a backup lease of the original (tabularium backup-lease).'
    return new CatalogError(
      'InvalidTableState',
      `Rows are missing: the object ${JSON.stringify(path)}, which a version needs, is not ${where} Nothing of the catalog was changed.`,
    )
  }
}

function different(path: string, there: number, size: number): CatalogError {
  return new CatalogError(
    'InvalidTableState',
    `The object ${JSON.stringify(path)} has ${there} bytes where the rows are to lie, and ${size} in the content of the original. Its copy was interrupted, perhaps. Remove it there, and do this again.`,
  )
}

/** The sizes of objects, by listing the folders that they lie in. */
class Listing {
  readonly #content: Content
  readonly #folders = new Map<string, Promise<Map<string, number>>>()

  constructor(content: Content) {
    this.#content = content
  }

  async sizeOf(path: string): Promise<number | undefined> {
    return (await this.#folderOf(path)).get(path)
  }

  add(path: string, size: number): void {
    void this.#folderOf(path).then((sizes) => sizes.set(path, size))
  }

  #folderOf(path: string): Promise<Map<string, number>> {
    const folder = path.slice(0, path.lastIndexOf('/') + 1)
    let sizes = this.#folders.get(folder)
    if (sizes === undefined) {
      sizes = sizesIn(this.#content.list(folder))
      // The caller gets the failure.
      sizes.catch(() => {})
      this.#folders.set(folder, sizes)
      if (this.#folders.size > maxFolders) this.#folders.delete(this.#folders.keys().next().value!)
    }
    return sizes
  }
}

async function sizesIn(objects: AsyncIterable<ListedObject>): Promise<Map<string, number>> {
  const sizes = new Map<string, number>()
  for await (const { path, size } of objects) sizes.set(path, size)
  return sizes
}
