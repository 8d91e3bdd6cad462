import { expect, it } from 'vitest';
import { compileMachine } from './compile-machine.js';
import { machineMermaid } from './machine-mermaid.js';
import { buildCheck, buildEdgePlan, statesIn } from './testing.js';

it('shows each state once by its name, and every arrow between declared states', () => {
  const checks = [buildCheck('a'), buildCheck('b'), buildCheck('c', 'agent'), buildCheck('d', 'human')];
  const { machine } = compileMachine(buildEdgePlan({ checks }));
  const lines = machineMermaid(machine).split('\n');
  expect(lines[0]).toBe('stateDiagram-v2');
  const declared = lines.flatMap(
    (line) => /^ *state "([^"]*)" as (s\d+)(?: \{)?$/.exec(line)?.slice(1, 3) ?? [],
  );
  const ids = declared.filter((_, at) => at % 2 === 1);
  expect(new Set(ids).size).toBe(ids.length);
  expect(declared.filter((_, at) => at % 2 === 0).sort()).toEqual(
    statesIn(machine)
      .map(([name]) => name)
      .sort(),
  );
  const arrows = lines.filter((line) => line.includes(' --> '));
  expect(arrows.length).toBeGreaterThan(ids.length);
  for (const arrow of arrows) {
    const [, from = '', to = ''] = /^ *(\S+) --> (\S+)(?: : [^:;]*(?:#\d+;[^:;]*)*)?$/.exec(arrow) ?? [];
    for (const end of [from, to]) expect(['[*]', ...ids]).toContain(end);
  }
});

it('nests the branches of a parallel state, with a separator between them', () => {
  const branchMachine = (name: string) => ({
    StartAt: name,
    States: { [name]: { Type: 'Pass', End: true } as const },
  });
  const machine = {
    StartAt: 'Both',
    States: {
      Both: { Type: 'Parallel', Branches: [branchMachine('A'), branchMachine('B')], End: true } as const,
    },
  };
  expect(machineMermaid(machine)).toBe(`stateDiagram-v2
  state "Both" as s1 {
    state "A" as s2
    [*] --> s2
    s2 --> [*]
    --
    state "B" as s3
    [*] --> s3
    s3 --> [*]
  }
  [*] --> s1
  s1 --> [*]
`);
});

it('escapes characters in names that would end the text or start other syntax', () => {
  const { machine } = compileMachine(
    buildEdgePlan({ checks: [buildCheck('a"; %%{init}%% #quot; <b> --> [*]')] }),
  );
  const text = machineMermaid(machine);
  expect(text).toContain(
    'state "Check: a#34;#59; #37;#37;#123;init#125;#37;#37; #35;quot#59; #60;b#62; --#62; [#42;]" as s6',
  );
});
