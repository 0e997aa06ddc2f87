import type { Command } from './model/index.ts'
import { type State, walk } from './model/state.ts'
import { ended } from './model/transactions.ts'

/** Calls that together read the whole content of a catalog in this state. */
export function finalReads(state: State): Command[] {
  const reads: Command[] = [
    { operation: 'listAllTables', request: {} },
    { operation: 'listAllTables', request: { include_declared: false } },
    { operation: 'listNamespaces', request: { id: [] } },
    { operation: 'listTransactions', request: ended },
  ]
  for (const [id, found] of walk(state.root, [])) {
    if (found.kind === 'namespace') {
      reads.push({ operation: 'listNamespaces', request: { id } })
      reads.push({ operation: 'describeNamespace', request: { id } })
      continue
    }
    reads.push({ operation: 'describeTable', request: { id, load_detailed_metadata: true } })
    reads.push({ operation: 'listTableTags', request: { id } })
    reads.push({ operation: 'listTableBranches', request: { id } })
    for (const [branch, { versions }] of found.branches) {
      reads.push({ operation: 'listTableVersions', request: { id, branch } })
      for (const [version, { rows }] of versions) {
        if (rows) reads.push({ operation: 'queryTable', request: { id, branch, version } })
      }
      reads.push({ operation: 'countTableRows', request: { id, branch } })
    }
  }
  for (const id of state.transactions.keys()) {
    reads.push({ operation: 'describeTransaction', request: { id: [id] } })
  }
  return reads
}

/** Reads of all tables by time: at the time of each version, and right before and after it. */
export function timeReads({ root, now }: State): Command[] {
  const reads: Command[] = []
  for (const [id, found] of walk(root, [])) {
    if (found.kind !== 'table') continue
    for (const [branch, { versions }] of found.branches) {
      const made = [...versions.values()].map(({ at }) => at)
      const times = new Set(made.flatMap((time) => [time - 1, time, time + 1]))
      for (const time of [...times, now].filter((time) => time <= now)) {
        const at = new Date(time).toISOString()
        reads.push({ operation: 'queryTable', request: { id, branch, at } })
        reads.push({ operation: 'listTableVersions', request: { id, branch, at } })
      }
    }
  }
  return reads
}
