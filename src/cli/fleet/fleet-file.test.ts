import { expect, it } from 'vitest';
import { FLEET_AGENTS_MAX, readFleetFile } from './fleet-file.js';

const faultsOf = (text: string): readonly string[] => {
  const result = readFleetFile('fleet.yml', text);
  return result.ok ? [] : result.faults;
};

it('reads the groups of agents with their defaults', () => {
  const text = `agents:
  - name: builder
    command: [claude, -p, "Do the task."]
    count: 3
    tracks: [A, B]
    role: implementer
    environment: { LOG_LEVEL: debug, RETRIES: 3 }
  - name: checker
    command: ./check.sh "$GENESIS_TASK_ID"
    kind: task
`;
  expect(readFleetFile('fleet.yml', text)).toEqual({
    ok: true,
    groups: [
      {
        name: 'builder',
        command: ['claude', '-p', 'Do the task.'],
        count: 3,
        tracks: ['A', 'B'],
        kind: null,
        agent_role: 'implementer',
        environment: { LOG_LEVEL: 'debug', RETRIES: '3' },
      },
      {
        name: 'checker',
        command: ['sh', '-c', './check.sh "$GENESIS_TASK_ID"'],
        count: 1,
        tracks: [],
        kind: 'task',
        agent_role: null,
        environment: {},
      },
    ],
  });
});

it.each([
  [
    'an unknown field',
    'agents:\n  - name: a\n    command: b\n    cont: 2\n',
    /^fleet\.yml:4:5: Unknown field "cont"\. Did you mean count\? Expected one of name, command, count, tracks, kind, role, environment\.$/,
  ],
  [
    'an unknown field of the file',
    'agents:\n  - { name: a, command: b }\nagent: 1\n',
    /^fleet\.yml:3:1: Unknown field "agent"\. Did you mean agents\? Expected agents\.$/,
  ],
  [
    'a missing command',
    'agents:\n  - name: a\n',
    /^fleet\.yml:2:5: "command" is missing\. Expected a shell command/,
  ],
  [
    'a command of the wrong type',
    'agents:\n  - name: a\n    command: 7\n',
    /^fleet\.yml:3:5: "command" has the wrong type\. Expected a shell command as text, or a list/,
  ],
  [
    'a count of zero',
    'agents:\n  - name: a\n    command: b\n    count: 0\n',
    /^fleet\.yml:4:5: "count" is not valid\. Expected a whole number from 1 to 100\.$/,
  ],
  [
    'a track that no plan can have',
    'agents:\n  - name: a\n    command: b\n    tracks: [A, b2]\n',
    /^fleet\.yml:4:17: .* Expected a list of tracks/,
  ],
  [
    'a kind that does not exist',
    'agents:\n  - name: a\n    command: b\n    kind: tasks\n',
    /^fleet\.yml:4:5: "kind" is not valid\. Expected task or edge/,
  ],
  [
    'edges of a track',
    'agents:\n  - name: a\n    command: b\n    tracks: [A]\n    kind: edge\n',
    /^fleet\.yml:5:5: Tracks have tasks only/,
  ],
  [
    'a name that is not a file name',
    'agents:\n  - name: ../a\n    command: b\n',
    /^fleet\.yml:2:5: "name" is not valid\. Expected letters, digits/,
  ],
  [
    'a variable that the fleet sets',
    'agents:\n  - name: a\n    command: b\n    environment:\n      GENESIS_URL: x\n',
    /^fleet\.yml:5:7: "GENESIS_URL" is not valid\. Expected a map of variables to text, none of which starts with GENESIS_\.$/,
  ],
  [
    'a group that is not a map',
    'agents:\n  - builder\n',
    /^fleet\.yml:2:5: .* Expected a map with name, command/,
  ],
  [
    'a name that is used twice',
    'agents:\n  - { name: a, command: b }\n  - { name: a, command: c }\n',
    /^fleet\.yml:3:7: The name a is used twice\.$/,
  ],
  [
    'too many agents together',
    'agents:\n  - { name: a, command: b, count: 99 }\n  - { name: c, command: c, count: 2 }\n',
    new RegExp(`^fleet\\.yml:1:1: The file has 101 agents; at most ${FLEET_AGENTS_MAX}`),
  ],
  ['text that is not YAML', 'agents: [\n', /^fleet\.yml:\d+:\d+: /],
  ['an empty file', '', /^fleet\.yml:1:1: "agents" is missing\. Expected a list/],
])('reports %s with line and column, and what was expected', (_, text, fault) => {
  const faults = faultsOf(text);
  expect(faults).toHaveLength(1);
  expect(faults[0]).toMatch(fault);
});

it('reports all faults, in the order of the text', () => {
  expect(faultsOf('agents:\n  - name: a b\n    role: 5\n    tracks: []\n')).toEqual([
    expect.stringMatching(/^fleet\.yml:2:5: /),
    expect.stringMatching(/^fleet\.yml:2:5: /),
    expect.stringMatching(/^fleet\.yml:3:5: /),
    expect.stringMatching(/^fleet\.yml:4:5: /),
  ]);
});
