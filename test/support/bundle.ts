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
