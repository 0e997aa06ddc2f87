import { useEffect, useState } from 'preact/hooks'

/** The navigation on small screens. */
export interface Browse {
  readonly isOpen: boolean
  readonly toggle: () => void
  readonly close: () => void
}

/** Opens and closes the navigation on small screens. */
export function BrowseButton({ isOpen, toggle }: Browse) {
  return (
    <button type="button" class="browse" aria-expanded={isOpen} aria-controls="browse" onClick={toggle}>
      Browse
    </button>
  )
}

/** Screens where the navigation is folded away. `shell.css` has the same width. */
const small = matchMedia('(max-width: 800px)')

/**
 * Whether the navigation is open on a small screen. It gives the focus to
 * the element `first`. It closes by Escape, and when the focus goes to the view.
 */
export function useBrowse(first: string): Browse {
  const [isOpen, setOpen] = useState(false)
  const close = () => setOpen(false)
  useEffect(() => {
    if (!isOpen) return undefined
    document.getElementById(first)?.focus()
    const onKey = ({ key }: KeyboardEvent) => key === 'Escape' && close()
    const onFocus = () => isInView() && close()
    document.addEventListener('keydown', onKey)
    document.addEventListener('focusin', onFocus)
    small.addEventListener('change', close)
    return () => {
      document.removeEventListener('keydown', onKey)
      document.removeEventListener('focusin', onFocus)
      small.removeEventListener('change', close)
      if (small.matches && !isInView()) document.querySelector<HTMLElement>('.browse')?.focus()
    }
  }, [isOpen])
  return { isOpen, toggle: () => setOpen((before) => !before), close }
}

/** Whether the focus is in the view. */
const isInView = () => document.getElementById('main')?.contains(document.activeElement) === true
