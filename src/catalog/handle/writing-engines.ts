import type { Content } from '../../base/content/content.ts'
import type { Writer } from '../../base/store/store.ts'
import type { WritingEngine } from '../../engine/table/index.ts'
import { type ChangeInline, inlineOf } from '../locations/inline-objects.ts'
import type { RowsContext } from '../rows/context.ts'
import type { LongTransaction } from '../transactions/long-transaction.ts'

/**
 * Engines whose objects bear the mark of the transaction. Its operations have records of their own, but a vacuum cannot
 * see these before the commit.
 */
export class WritingEngines {
  readonly #core: RowsContext
  readonly #transaction: Pick<LongTransaction, 'id' | 'record'>
  readonly #engines = new Map<Content, Promise<{ files: WritingEngine; small: WritingEngine | undefined }>>()
  /** The small objects in each content, if it has any. */
  readonly #inline = new Map<Content, ChangeInline | undefined>()

  constructor(core: RowsContext, transaction: Pick<LongTransaction, 'id' | 'record'>) {
    this.#core = core
    this.#transaction = transaction
  }

  readonly engine: RowsContext['engine'] = async (content) => {
    const engines = this.#engines.get(content) ?? this.#make(content)
    this.#engines.set(content, engines)
    const { files, small } = await engines
    // The commit of the transaction syncs for all of its operations. Each finds what those before it have written.
    const deferred = (engine: WritingEngine) => ({ ...engine, sync: engine.written })
    return { ...files, writtenBy: (_, inline) => deferred((inline && small) ?? files) }
  }

  /** Keeps the small objects of all operations in a content. Undefined where they are files. */
  inlineOf(content: Content): ChangeInline | undefined {
    if (!this.#inline.has(content)) this.#inline.set(content, inlineOf(this.#core, content))
    return this.#inline.get(content)
  }

  /** The bytes of small objects in memory. */
  get smallBytes(): number {
    return this.#all.reduce((sum, { bytes }) => sum + bytes, 0)
  }

  /** Writes the records of the small objects of versions with these manifests. */
  record(writer: Writer, manifests: readonly string[]): void {
    for (const inline of this.#all) inline.record(writer, manifests)
  }

  /** Forgets the small objects: they are committed, or never will be. */
  release(): void {
    for (const inline of this.#all) inline.release()
  }

  /** Makes durable what the engines have written. */
  async sync(): Promise<void> {
    await Promise.all(
      Array.from(this.#engines.values(), async (engines) => {
        const { files, small } = await engines
        await Promise.all([files.sync(), small?.sync()])
      }),
    )
  }

  get #all(): ChangeInline[] {
    return [...this.#inline.values()].filter((inline) => inline !== undefined)
  }

  async #make(content: Content) {
    const engine = await this.#core.engine(content)
    const { id } = this.#transaction
    const inline = this.inlineOf(content)
    // A vacuum takes files that no work under way has written.
    const beforeFile = () => this.#transaction.record()
    if (inline === undefined) await beforeFile()
    const small = inline && {
      fits: (bytes: number) => inline.fits(bytes),
      put: (...object: Parameters<ChangeInline['put']>) => inline.put(...object),
      beforeFile,
    }
    return { files: engine.writtenBy(id), small: small && engine.writtenBy(id, small) }
  }
}
