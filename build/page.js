import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { build } from 'esbuild'

/*
 * Builds the page to look after a catalog, `dist/page`, or `page` in the folder that is named. It runs in browsers, and so
 * is a bundle of its own.
 */

const outdir = join(process.argv[2] ?? 'dist', 'page')

const { outputFiles } = await build({
  write: false,
  entryPoints: [
    { in: 'src/page/main.tsx', out: 'app' },
    { in: 'src/page/style.css', out: 'app' },
  ],
  outdir,
  bundle: true,
  minify: true,
  format: 'esm',
  platform: 'browser',
  target: ['chrome120', 'firefox121', 'safari17'],
  jsx: 'automatic',
  jsxImportSource: 'preact',
  legalComments: 'none',
})
mkdirSync(outdir, { recursive: true })
for (const { path, contents } of outputFiles) put(basename(path), contents)
put('index.html', readFileSync('src/page/index.html'))

/**
 * Puts a file whole into its place: a server may start, or another build run, meanwhile. What a killed build leaves begins
 * with a dot, and the package leaves that out.
 */
function put(name, contents) {
  const whole = join(outdir, `.${name}-${process.pid}`)
  writeFileSync(whole, contents)
  renameSync(whole, join(outdir, name))
}
