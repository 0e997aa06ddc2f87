// Without a configuration here, vitest takes the first one of the folders above.
export default {}
