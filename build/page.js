import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { build } from 'esbuild'

/*
 * Builds the admin page and the script of `/docs`, `dist/page`, or `page` in the folder of the first argument. A separate bundle, since it runs
 * in browsers.
 */

const outdir = join(process.argv[2] ?? 'dist', 'page')

const { outputFiles } = await build({
  write: false,
  entryPoints: [
    { in: 'src/page/main.tsx', out: 'app' },
    { in: 'src/page/style.css', out: 'app' },
    { in: 'src/page/docs/main.tsx', out: 'docs' },
    { in: 'src/page/docs/docs.css', out: 'docs' },
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
 * Replaces a file atomically, since a server may start or another build may run at the same time. The temporary file of
 * a killed build begins with a dot, and the package excludes such files.
 */
function put(name, contents) {
  const whole = join(outdir, `.${name}-${process.pid}`)
  writeFileSync(whole, contents)
  renameSync(whole, join(outdir, name))
}
