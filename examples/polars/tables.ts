/** The tables that the examples ask: few rows, so that each answer can be checked by hand. */
export const tables = {
  airports: [
    { code: 'SFO', city: 'San Francisco' },
    { code: 'OAK', city: 'Oakland' },
    { code: 'JFK', city: 'New York' },
    { code: 'LGA', city: 'New York' },
  ],
  flights: [
    { flight: 1, origin: 'SFO', carrier: 'Kite', day: new Date('2026-06-01'), delay: 75 },
    { flight: 2, origin: 'OAK', carrier: 'Finch', day: new Date('2026-06-01'), delay: 12 },
    { flight: 3, origin: 'JFK', carrier: 'Kite', day: new Date('2026-06-01'), delay: 30 },
    { flight: 4, origin: 'LGA', carrier: 'Finch', day: new Date('2026-06-02'), delay: 6 },
    { flight: 5, origin: 'SFO', carrier: 'Finch', day: new Date('2026-06-02'), delay: null },
    { flight: 6, origin: 'JFK', carrier: 'Kite', day: new Date('2026-06-02'), delay: 90 },
  ],
}
