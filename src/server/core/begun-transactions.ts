import type { Catalog } from '../../catalog/index.ts'
import { principalKey } from '../../catalog/index.ts'
import type { OperationName } from '../../catalog/operations/index.ts'
import type { Principal } from '../auth/principal.ts'
import type { Fields } from '../dialects/dialect.ts'

/** The most transactions that are tracked. By default, the catalog allows fewer at once. */
const most = 10_000

/** Tracks the transactions that callers began and did not end, to roll them back when the server closes. */
export class BegunTransactions {
  readonly #catalog: Catalog
  readonly #owners = new Map<string, Principal | undefined>()

  constructor(catalog: Catalog) {
    this.#catalog = catalog
  }

  /** Records a transaction that an operation began or ended. */
  record(operation: OperationName, request: Fields, answer: Fields, principal: Principal | undefined): void {
    if (operation === 'beginTransaction') {
      this.#owners.set(String(answer.transaction_id), principal)
      if (this.#owners.size > most) this.#owners.delete(this.#owners.keys().next().value!)
    } else if (operation === 'commitTransaction' || operation === 'rollbackTransaction') {
      this.#owners.delete(String((request.id as readonly unknown[]).at(-1)))
    }
  }

  /** Rolls back the open transactions. One whose rollback fails expires. */
  async rollBack(): Promise<void> {
    const open = [...this.#owners]
    this.#owners.clear()
    await Promise.allSettled(
      open.map(([id, principal]) =>
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
