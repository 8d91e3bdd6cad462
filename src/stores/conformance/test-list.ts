/** A test of the suite, for any runner: `for (const { name, run } of …) test(name, run)`. */
export interface ConformanceTest {
  readonly name: string;
  run(): Promise<void>;
}

/** The names of the groups around the test that is being declared, and the tests declared so far. */
let groups: string[] = [];
let declared: ConformanceTest[] = [];

/** The tests that `declare` declares with `describe` and `it`. */
export function testsDeclaredBy(declare: () => void): readonly ConformanceTest[] {
  groups = [];
  declared = [];
  declare();
  return declared;
}

export function describe(group: string, declare: () => void): void {
  groups.push(group);
  declare();
  groups.pop();
}

export function it(behaviour: string, run: () => void | Promise<void>): void {
  declared.push({ name: [...groups, behaviour].join(' > '), run: async () => run() });
}

/** A test per row; `%s` in the name is the first value of the row. */
it.each =
  <Row extends readonly [string, ...unknown[]]>(rows: readonly Row[]) =>
  (behaviour: string, run: (...row: Row) => Promise<void>): void => {
    for (const row of rows) it(behaviour.replace('%s', row[0]), () => run(...row));
  };
