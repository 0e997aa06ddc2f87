import type { BuildOptions } from 'esbuild'

/** How sources are bundled for Node: what they share is loaded once, and packages are found where they are. */
export const forNode = {
  bundle: true,
  splitting: true,
  format: 'esm',
  platform: 'node',
  target: 'node20',
  packages: 'external',
} as const satisfies BuildOptions
