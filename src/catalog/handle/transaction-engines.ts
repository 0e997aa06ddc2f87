import type { Content } from '../../base/content/content.ts'
import type { WritingEngine } from '../../engine/table/index.ts'
import type { RowsContext } from '../rows/context.ts'

export interface WritingEngines {
  readonly engine: RowsContext['engine']
  /** Makes durable what the engines have written. */
  sync(): Promise<void>
}

/**
 * Engines whose objects bear the mark of the transaction. Its operations have records of their own, but a vacuum cannot
 * see these before the commit.
 */
export function enginesOf(core: RowsContext, transactionId: string): WritingEngines {
  const engines = new Map<Content, Promise<WritingEngine>>()
  const make = async (content: Content) => (await core.engine(content)).writtenBy(transactionId)
  const find = (content: Content) => {
    const engine = engines.get(content) ?? make(content)
    engines.set(content, engine)
    return engine
  }
  return {
    engine: async (content) => {
      const marked = await find(content)
      // The commit of the transaction syncs for all of its operations. Each finds what those before it have written.
      return { ...marked, writtenBy: () => ({ ...marked, sync: marked.written }) }
    },
    sync: async () => {
      await Promise.all(Array.from(engines.values(), async (engine) => (await engine).sync()))
    },
  }
}
