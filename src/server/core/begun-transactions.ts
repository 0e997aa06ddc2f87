import type { Catalog } from '../../catalog/handle/handle.ts'
import { principalKey } from '../../catalog/operations/framework/principal.ts'
import type { OperationName } from '../../catalog/operations/index.ts'
import type { Principal } from '../auth/auth.ts'
import type { Fields } from '../dialects/dialect.ts'

/** More than that are not remembered: the catalog allows fewer at once, unless it was told otherwise. */
const most = 10_000

/** The transactions that callers of a server began and did not end, so that it gives them up when it closes. */
export class BegunTransactions {
  readonly #catalog: Catalog
  readonly #owners = new Map<string, Principal | undefined>()

  constructor(catalog: Catalog) {
    this.#catalog = catalog
  }

  /** Learns from the answer of an operation what has begun or ended. */
  note(operation: OperationName, request: Fields, answer: Fields, principal: Principal | undefined): void {
    if (operation === 'beginTransaction') {
      this.#owners.set(String(answer.transaction_id), principal)
      if (this.#owners.size > most) this.#owners.delete(this.#owners.keys().next().value!)
    } else if (operation === 'commitTransaction' || operation === 'rollbackTransaction') {
      this.#owners.delete(String((request.id as readonly unknown[]).at(-1)))
    }
  }

  /** Gives up those that are left. What cannot be given up expires. */
  async giveUp(): Promise<void> {
    const left = [...this.#owners]
    this.#owners.clear()
    await Promise.allSettled(
      left.map(([id, principal]) =>
        this.#catalog.rollbackTransaction({
          id: [id],
          failure: 'The server closed before its commit.',
          failure_code: 'ServiceUnavailable',
          ...(principal && { context: { [principalKey]: principal.name } }),
        }),
      ),
    )
  }
}
