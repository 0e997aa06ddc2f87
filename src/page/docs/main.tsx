import { render } from 'preact'
import { useEffect, useLayoutEffect, useState } from 'preact/hooks'
import { BrowseButton, useBrowse } from '../parts/browse.tsx'
import { ThemeChoice } from '../parts/theme-choice.tsx'
import { urlOf } from '../server.ts'
import { followTheme } from '../theme.ts'
import type { ApiDocument } from './request.ts'
import { Search } from './search.tsx'
import { TryIt } from './try-it.tsx'

/*
 * The script of `/docs`. The server sends the page whole; this adds the search, the theme, the navigation of small
 * screens, and the forms that send requests.
 */

let loaded: Promise<ApiDocument> | undefined

/** The description for machines, which the forms are made of. It is fetched when the first form is opened. */
function apiDocument(): Promise<ApiDocument> {
  loaded ??= fetch(urlOf('openapi.json')).then((response) => response.json() as Promise<ApiDocument>)
  return loaded
}

function Place({ path, name }: { readonly path: string; readonly name: string }) {
  const [document, setDocument] = useState<ApiDocument>()
  const [isOpen, setOpen] = useState(false)
  useEffect(() => {
    if (isOpen && document === undefined) void apiDocument().then(setDocument)
  }, [isOpen])
  return (
    <>
      <button type="button" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
        Try it<span class="unseen"> : {name}</span>
      </button>
      {isOpen && document && <TryIt path={path} document={document} />}
    </>
  )
}

function Browsing() {
  const browse = useBrowse('search-field')
  // Before the effect of `useBrowse`, which gives the focus to what is shown then.
  useLayoutEffect(() => {
    document.querySelector('.columns')!.classList.toggle('browsing', browse.isOpen)
    const scrim = document.getElementById('scrim')!
    scrim.hidden = !browse.isOpen
    scrim.onclick = browse.close
    window.addEventListener('hashchange', browse.close)
    return () => window.removeEventListener('hashchange', browse.close)
  }, [browse.isOpen])
  return <BrowseButton {...browse} />
}

followTheme()
render(<ThemeChoice />, document.getElementById('theme')!)
render(<Search />, document.getElementById('search')!)
render(<Browsing />, document.getElementById('browse-button')!)
for (const place of document.querySelectorAll<HTMLElement>('.try')) {
  const name = place.closest('section')!.id
  render(<Place path={place.dataset.path!} name={name} />, place)
}
