import type { OperationOptions } from '../index.ts'
import type { Output } from './io.ts'

type OnProgress = NonNullable<OperationOptions['onProgress']>

const delay = 500
const width = 30

/**
 * A bar on the error stream for work that takes longer than a moment; nothing at all when nobody watches.
 * `clear` takes it away again.
 */
export function progressBar(out: Output): { onProgress: OnProgress | undefined; clear(): void } {
  if (!out.isTTY) return { onProgress: undefined, clear: () => {} }
  const started = Date.now()
  let last = 0
  return {
    onProgress: ({ rows, total }) => {
      const now = Date.now()
      if (now - started < delay || now - last < 100) return
      last = now
      out.write(`\r${barText(rows, total)}\u001b[K`)
    },
    clear: () => {
      if (last > 0) out.write('\r\u001b[K')
    },
  }
}

/** The bar: how much of the whole, and in numbers. */
export function barText(rows: number, total: number): string {
  const part = total > 0 ? Math.min(1, rows / total) : 1
  const done = Math.round(part * width)
  return `${'█'.repeat(done)}${'░'.repeat(width - done)} ${Math.floor(part * 100)}%  ${rows.toLocaleString('en')} of ${total.toLocaleString('en')} rows`
}
