import { useEffect, useRef, useState } from 'preact/hooks'
import type { Identifier } from '../../base/model/identifier.ts'
import { useActiveRow, useChanged } from '../hooks.ts'
import { Listing } from '../listing.ts'
import { plainText } from '../model/text.ts'
import { keyOf, type TreeRow, treeRows } from '../model/tree.ts'
import { Failure } from '../parts/failure.tsx'
import { Text } from '../parts/text.tsx'
import { VirtualList } from '../parts/virtual-list.tsx'
import { get, ServerError } from '../server.ts'

interface Props {
  readonly chosen: Identifier
  readonly revision: number
  readonly reloadKey: number
  readonly onChoose: (id: Identifier) => void
}

function readNamespaces(
  id: Identifier,
  query: { readonly limit: number; readonly page_token: string | undefined },
  signal: AbortSignal,
) {
  return get<{ namespaces: string[]; page_token?: string }>('namespace', id, 'list', { query, signal })
}

/** A removed namespace is no error: the listing of its parent shows that it is gone. */
const isGone = (error: unknown) => error instanceof ServerError && error.status === 404

/**
 * The listings of expanded namespaces, by `keyOf`, and what is expanded. The ancestors of the chosen namespace are.
 * A namespace that was removed is closed.
 */
function useNamespaces({ chosen, revision, reloadKey }: Omit<Props, 'onChoose'>) {
  const [expanded, setExpanded] = useState<ReadonlySet<string>>(() => new Set([keyOf([])]))
  const [, draw] = useState(0)
  const listings = useRef(new Map<string, Listing<string>>()).current

  const toggle = (key: string, open: boolean) =>
    setExpanded((before) => {
      const next = new Set(before)
      if (open) next.add(key)
      else next.delete(key)
      return next
    })

  const fetchAll = (key: string) => {
    const id = JSON.parse(key) as string[]
    const listing = new Listing(
      async (token, signal) => {
        const { namespaces, page_token } = await readNamespaces(
          id,
          { limit: 1_000, page_token: token },
          signal,
        )
        return { items: namespaces, token: page_token || undefined }
      },
      () => {
        if (id.length > 0 && isGone(listing.pages.error)) {
          listing.close()
          listings.delete(key)
          toggle(key, false)
        }
        draw((times) => times + 1)
      },
    )
    listings.set(key, listing)
    listing.more()
  }

  useEffect(
    () => () => {
      for (const listing of listings.values()) listing.close()
      listings.clear()
    },
    [revision],
  )
  useEffect(() => {
    for (const key of expanded) if (!listings.has(key)) fetchAll(key)
  }, [expanded, revision])
  useChanged(reloadKey, () => {
    for (const listing of listings.values()) void listing.refresh()
  })

  // Expands the ancestors of the chosen namespace.
  useEffect(() => {
    const ways = chosen.map((_, depth) => keyOf(chosen.slice(0, depth)))
    setExpanded((before) => (ways.every((key) => before.has(key)) ? before : new Set([...before, ...ways])))
  }, [keyOf(chosen)])

  return { listings, expanded, toggle }
}

/** The tree of namespaces. The children of a namespace are fetched when it is expanded. */
export function NamespaceTree({ onChoose, ...props }: Props) {
  const { listings, expanded, toggle } = useNamespaces(props)
  const wanted = keyOf(props.chosen)
  const known = new Map(Array.from(listings, ([key, { pages }]) => [key, pages]))
  const rows = treeRows(known, expanded)
  const [active, setActive] = useActiveRow(rows, ({ key }) => key)
  const failed = [...listings.values()].filter(({ pages }) => pages.error !== undefined)

  const onKey = (key: string, row: number): boolean => {
    const at = rows[row]
    if (!at || at.isRest) return false
    if (key === 'ArrowRight') {
      if (!at.expanded && !at.isLeaf) toggle(at.key, true)
      else if (rows[row + 1]?.depth === at.depth + 1) setActive(row + 1)
      return true
    }
    if (key !== 'ArrowLeft') return false
    if (at.expanded && at.depth > 0) toggle(at.key, false)
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
      {failed[0] && (
        <Failure
          error={failed[0].pages.error}
          again={() => {
            for (const listing of failed) void listing.refresh()
          }}
        />
      )}
      <VirtualList
        id="namespaces"
        label="Namespaces"
        role="tree"
        count={rows.length}
        rowHeight={28}
        keyOf={(row) => rows[row]!.key}
        active={active}
        onActive={setActive}
        onChoose={(row) => {
          const at = rows[row]
          if (!at) return
          if (at.isRest) listings.get(keyOf(at.id))?.more()
          else {
            if (!at.expanded) toggle(at.key, true)
            onChoose(at.id)
          }
        }}
        onKey={onKey}
        attributes={(row) => attributesOf(rows[row]!, wanted)}
      >
        {(row) => <NamespaceRow row={rows[row]!} toggle={toggle} more={(key) => listings.get(key)?.more()} />}
      </VirtualList>
    </section>
  )
}

function attributesOf(
  { id, key, depth, expanded, isLeaf, isRest, position, siblings }: TreeRow,
  chosen: string,
) {
  return {
    'aria-level': depth + 1,
    'aria-selected': key === chosen,
    'aria-expanded': isLeaf ? undefined : expanded,
    'aria-posinset': position,
    'aria-setsize': siblings,
    title: isRest ? undefined : id.map(plainText).join(' › '),
  }
}

function NamespaceRow({
  row: { id, key, depth, expanded, isLeaf, isRest },
  toggle,
  more,
}: {
  readonly row: TreeRow
  readonly toggle: (key: string, open: boolean) => void
  readonly more: (key: string) => void
}) {
  useEffect(() => {
    if (isRest) more(keyOf(id))
  })
  return (
    <span class="tree-row" style={{ paddingLeft: `${depth * 16}px` }}>
      <span
        class={isLeaf ? 'twist leaf' : expanded ? 'twist open' : 'twist'}
        aria-hidden="true"
        onClick={(event) => {
          if (isLeaf) return
          event.stopPropagation()
          toggle(key, !expanded)
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
