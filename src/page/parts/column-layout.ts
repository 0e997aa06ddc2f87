import { useState } from 'preact/hooks'
import type { Identifier } from '../../base/model/identifier.ts'
import { type ColumnLayout, keptLayout, withLayout } from '../model/column-layout.ts'

const key = 'tabularium-columns'

/** How a table's columns are arranged, kept in this browser. Without its storage, it lasts as long as the view. */
export function useColumnLayout(id: Identifier): [ColumnLayout, (layout: ColumnLayout) => void] {
  const [layout, setLayout] = useState(() => keptLayout(kept(), id))
  const change = (next: ColumnLayout) => {
    setLayout(next)
    try {
      localStorage.setItem(key, withLayout(kept(), id, next))
    } catch {
      // The storage is full or forbidden.
    }
  }
  return [layout, change]
}

function kept(): string | null {
  try {
    return localStorage.getItem(key)
  } catch {
    return null
  }
}
