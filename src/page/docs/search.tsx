import { useState } from 'preact/hooks'

interface Entry {
  readonly section: HTMLElement
  readonly link: HTMLElement | null
  /** All that the section says, in lower case. */
  readonly text: string
}

/** Searches the operations by all that is said of them. What does not match is hidden. */
export function Search() {
  const [entries] = useState(readEntries)
  const [found, setFound] = useState<number>()
  const search = (typed: string) => {
    const words = typed.toLowerCase().split(/\s+/).filter(Boolean)
    let count = 0
    for (const { section, link, text } of entries) {
      const isFound = words.every((word) => text.includes(word))
      section.hidden = !isFound
      if (link) link.hidden = !isFound
      if (isFound) count++
    }
    for (const list of document.querySelectorAll<HTMLElement>('.contents ul')) {
      const isEmpty = list.querySelector('li:not([hidden])') === null
      list.hidden = isEmpty
      const heading = list.previousElementSibling as HTMLElement | null
      if (heading) heading.hidden = isEmpty
    }
    setFound(words.length === 0 ? undefined : count)
  }
  return (
    <>
      <label class="search">
        <span class="unseen">Search operations</span>
        <input
          id="search-field"
          type="search"
          placeholder="Search names, fields, texts"
          spellcheck={false}
          onInput={(event) => search(event.currentTarget.value)}
        />
      </label>
      <p class="faint found" role="status">
        {found === undefined
          ? `${entries.length} operations`
          : found === 0
            ? 'Nothing is found.'
            : `${found} of ${entries.length} operations`}
      </p>
    </>
  )
}

function readEntries(): readonly Entry[] {
  return Array.from(document.querySelectorAll<HTMLElement>('section.operation'), (section) => ({
    section,
    link: document.querySelector(`.contents a[href="#${CSS.escape(section.id)}"]`)?.closest('li') ?? null,
    text: (section.textContent ?? '').toLowerCase(),
  }))
}
