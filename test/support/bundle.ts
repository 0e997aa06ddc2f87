import type { BuildOptions } from 'esbuild'

/** The bundler options for Node: shared modules are loaded once, and packages stay external. */
export const forNode = {
  bundle: true,
  splitting: true,
  format: 'esm',
  platform: 'node',
  target: 'node20',
  packages: 'external',
} as const satisfies BuildOptions

/** What starts by itself, as a thread or as a process, at the paths where a bundle of the package looks for it. */
export const startedApart = ['engine/arrow/ipc/decompress-worker', 'engine/lance/isolated/child'].map(
  (out) => ({
    in: `src/${out}.ts`,
    out,
  }),
)
