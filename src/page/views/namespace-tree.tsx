import { useEffect, useRef, useState } from 'preact/hooks'
import type { Identifier } from '../../model/identifier.ts'
import { useActiveRow } from '../hooks.ts'
import { plainText } from '../model/text.ts'
import { type Children, keyOf, type TreeRow, treeRows } from '../model/tree.ts'
import { Failure } from '../parts/failure.tsx'
import { Text } from '../parts/text.tsx'
import { VirtualList } from '../parts/virtual-list.tsx'
import { read } from '../server.ts'

interface Props {
  readonly chosen: Identifier
  readonly revision: number
  readonly fresh: number
  readonly onChoose: (id: Identifier) => void
}

function readNamespaces(
  id: Identifier,
  query: { readonly limit: number; readonly page_token: string | undefined },
  signal: AbortSignal,
) {
  return read<{ namespaces: string[]; page_token?: string }>('namespace', id, 'list', { query, signal })
}

const nothing: Children = { names: [], loading: false }

/** The tree of namespaces. What is in a namespace is fetched when it is opened. */
export function NamespaceTree({ chosen, revision, fresh, onChoose }: Props) {
  const [known, setKnown] = useState<ReadonlyMap<string, Children>>(new Map())
  const [expanded, setExpanded] = useState<ReadonlySet<string>>(() => new Set([keyOf([])]))
  const latest = useRef(known)
  latest.current = known
  const alive = useRef(new AbortController())

  const put = (id: Identifier, children: Children) => {
    const next = new Map(latest.current).set(keyOf(id), children)
    latest.current = next
    setKnown(next)
  }

  const fetchMore = (id: Identifier) => {
    const before = latest.current.get(keyOf(id)) ?? nothing
    if (before.loading) return
    const { signal } = alive.current
    put(id, { ...before, loading: true, failed: undefined })
    const query = { limit: 1_000, page_token: before.token }
    readNamespaces(id, query, signal).then(
      ({ namespaces, page_token }) => {
        if (signal.aborted) return
        put(id, { names: [...before.names, ...namespaces], token: page_token || undefined, loading: false })
      },
      (failed) => !signal.aborted && put(id, { ...before, loading: false, failed }),
    )
  }

  /** Fetches as much again as is known of a namespace, and shows it when it is there. */
  const fetchAgain = async (id: Identifier) => {
    const { signal } = alive.current
    const before = latest.current.get(keyOf(id))
    if (before === undefined || before.loading) return
    const names: string[] = []
    let token: string | undefined
    try {
      do {
        const query = { limit: 1_000, page_token: token }
        const page = await readNamespaces(id, query, signal)
        for (const name of page.namespaces) names.push(name)
        token = page.page_token || undefined
      } while (token && names.length < before.names.length)
    } catch {
      // One that is gone is not in the namespace above it any more.
      return
    }
    // What somebody fetched meanwhile is not older.
    if (!signal.aborted && latest.current.get(keyOf(id)) === before) put(id, { names, token, loading: false })
  }

  const toggle = (id: Identifier, open: boolean) => {
    const next = new Set(expanded)
    if (open) next.add(keyOf(id))
    else next.delete(keyOf(id))
    setExpanded(next)
    if (open && !latest.current.has(keyOf(id))) fetchMore(id)
  }

  useEffect(() => {
    alive.current = new AbortController()
    latest.current = new Map()
    for (const key of expanded) fetchMore(JSON.parse(key) as string[])
    return () => alive.current.abort()
  }, [revision])

  const heard = useRef(fresh)
  useEffect(() => {
    if (heard.current === fresh) return
    heard.current = fresh
    for (const key of latest.current.keys()) void fetchAgain(JSON.parse(key) as string[])
  }, [fresh])

  // The way to the chosen namespace is open.
  const wanted = keyOf(chosen)
  useEffect(() => {
    const ways = chosen.map((_, depth) => chosen.slice(0, depth)).filter((id) => !expanded.has(keyOf(id)))
    if (ways.length === 0) return
    setExpanded(new Set([...expanded, ...ways.map(keyOf)]))
    for (const id of ways) if (!latest.current.has(keyOf(id))) fetchMore(id)
  }, [wanted])

  const rows = treeRows(known, expanded)
  const [active, setActive] = useActiveRow(rows, ({ key }) => key, known)
  const failed = [...known.values()].find(({ failed }) => failed !== undefined)?.failed

  const onKey = (key: string, row: number): boolean => {
    const at = rows[row]
    if (!at || at.isRest) return false
    if (key === 'ArrowRight') {
      if (!at.expanded && !at.isLeaf) toggle(at.id, true)
      else if (rows[row + 1]?.depth === at.depth + 1) setActive(row + 1)
      return true
    }
    if (key !== 'ArrowLeft') return false
    if (at.expanded && at.depth > 0) toggle(at.id, false)
    else
      setActive(
        Math.max(
          0,
          rows.findIndex(({ key }) => key === keyOf(at.id.slice(0, -1))),
        ),
      )
    return true
  }

  return (
    <section class="namespaces">
      <div class="list-head">
        <h2>Namespaces</h2>
      </div>
      {failed !== undefined && (
        <Failure
          error={failed}
          again={() => {
            for (const [key, children] of latest.current)
              if (children.failed !== undefined) fetchMore(JSON.parse(key) as string[])
          }}
        />
      )}
      <VirtualList
        id="namespaces"
        label="Namespaces"
        role="tree"
        count={rows.length}
        rowHeight={28}
        active={Math.min(active, rows.length - 1)}
        onActive={setActive}
        onChoose={(row) => {
          const at = rows[row]
          if (!at) return
          if (at.isRest) fetchMore(at.id)
          else {
            if (!at.expanded) toggle(at.id, true)
            onChoose(at.id)
          }
        }}
        onKey={onKey}
        attributes={(row) => attributesOf(rows[row]!, wanted)}
      >
        {(row) => <NamespaceRow row={rows[row]!} toggle={toggle} fetchMore={fetchMore} />}
      </VirtualList>
    </section>
  )
}

function attributesOf(
  { id, key, depth, expanded, isLeaf, isRest, place, siblings }: TreeRow,
  chosen: string,
) {
  return {
    'aria-level': depth + 1,
    'aria-selected': key === chosen,
    'aria-expanded': isLeaf ? undefined : expanded,
    'aria-posinset': place,
    'aria-setsize': siblings,
    title: isRest ? undefined : id.map(plainText).join(' › '),
  }
}

function NamespaceRow({
  row: { id, depth, expanded, isLeaf, isRest },
  toggle,
  fetchMore,
}: {
  readonly row: TreeRow
  readonly toggle: (id: Identifier, open: boolean) => void
  readonly fetchMore: (id: Identifier) => void
}) {
  useEffect(() => {
    if (isRest) fetchMore(id)
  }, [isRest])
  return (
    <span class="tree-row" style={{ paddingLeft: `${depth * 16}px` }}>
      <span
        class={isLeaf ? 'twist leaf' : expanded ? 'twist open' : 'twist'}
        aria-hidden="true"
        onClick={(event) => {
          if (isLeaf) return
          event.stopPropagation()
          toggle(id, !expanded)
        }}
      />
      {isRest ? (
        <span class="faint">more…</span>
      ) : id.length === 0 ? (
        'All namespaces'
      ) : (
        <Text text={id.at(-1)!} />
      )}
    </span>
  )
}
