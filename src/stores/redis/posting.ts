/** The positions of a posting: `base:1,4-6` are the first and the fourth to sixth event after position `base`. */
export function parsePosting(posting: string): number[] {
  const [base, numbers] = posting.split(':') as [string, string];
  if (numbers === '') return [];
  return numbers.split(',').flatMap((range) => {
    const [first, last = first] = range.split('-').map(Number) as [number, number?];
    return Array.from({ length: last - first + 1 }, (_, index) => Number(base) + first + index);
  });
}
