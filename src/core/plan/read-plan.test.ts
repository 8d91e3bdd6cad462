import { describe, expect, it } from 'vitest';
import { dependenciesOf } from './dependency-graph.js';
import type { Plan } from './plan.js';
import { PLAN_TEXT_LENGTH_MAX } from './plan-document.js';
import { readPlan } from './read-plan.js';
import { renderPlan } from './render.js';
import { NOTHING_STARTED } from './started-tasks.js';
import { planChangeWith, planOf, startedTasksWith } from './testing.js';

const SHOP = `# Project plan
project: ecommerce-rebuild
tracks:
  A:
    - id: A-001-core-framework
      description: "Initialize core application framework"
      depends_on: []
    - id: A-002-di-container
      description: "Setup dependency injection container"
      depends_on: [A-001-core-framework]
    - id: A-003-event-bus
      description: "Implement event bus for async communication"
      depends_on: [A-002-di-container]
  B:
    - id: B-001-schema-design
      description: "Design database schema"
      depends_on: []
    - id: B-002-entity-models
      description: "Create entity models from schema"
      depends_on: [B-001-schema-design, A-001-core-framework] # Cross-track!
    - id: B-003-repositories
      description: "Implement repository pattern"
      depends_on: [B-002-entity-models, A-002-di-container] # Cross-track!
`;

function faultsOf(yaml: string, current: Plan | null = null, startedTasks = NOTHING_STARTED) {
  const reading = readPlan({ yaml }, current, startedTasks);
  return reading.ok ? [] : reading.faults;
}
const codesAndLines = (yaml: string) => faultsOf(yaml).map(({ code, line }) => `${code} ${line}`);

it('reports all faults, even if some fields are invalid', () => {
  const yaml = `tracks:
  A:
    - {id: A-001-a, description: x, owner: me, depends_on: [A-002-b, A-009-none]}
    - {id: A-002-b, depends_on: [A-001-a]}
    - {id: bad, description: 7}
    - {id: A-001-a, priority: high}
    - {id: A-003-c, description: x, depend_on: [], depends_on: 4}
`;
  const codes = faultsOf(yaml).map(({ code, line }) => `${code} ${line}`);
  expect(codes.sort()).toEqual([
    'BAD_ID 5',
    'BAD_VALUE 4',
    'BAD_VALUE 5',
    'BAD_VALUE 6',
    'BAD_VALUE 6',
    'BAD_VALUE 7',
    'CYCLE 3',
    'DUPLICATE_ID 6',
    'UNKNOWN_DEPENDENCY 3',
    'UNKNOWN_FIELD 3',
    'UNKNOWN_FIELD 7',
  ]);
});

describe('the shop plan', () => {
  // req: PLN-007, PLN-008, PLN-010
  it('is read with its tasks and dependencies', () => {
    const reading = readPlan({ yaml: SHOP }, null, NOTHING_STARTED);
    expect(reading).toMatchObject({ ok: true, input: { project: 'ecommerce-rebuild' } });
    const plan = planOf({ yaml: SHOP });
    expect(plan.task_count).toBe(6);
    expect(dependenciesOf(plan, 'B-003-repositories')).toEqual(['B-002-entity-models', 'A-002-di-container']);
    expect(dependenciesOf(plan, 'A-001-core-framework')).toEqual([]);
  });

  it('gives no change when it is read again as JSON', () => {
    const plan = planOf({ yaml: SHOP });
    expect(readPlan({ json: renderPlan(plan, 'ecommerce-rebuild') }, plan, NOTHING_STARTED)).toMatchObject({
      ok: true,
      input: { project: 'ecommerce-rebuild' },
      change: { added: [], changed: [], removed: [] },
    });
  });

  it('allows tasks to be added, removed and changed while none is started', () => {
    const plan = planOf({ yaml: SHOP });
    const yaml = SHOP.replace('A-003-event-bus', 'A-004-queue').replace(
      '"Design database schema"',
      'Draw it',
    );
    expect(readPlan({ yaml }, plan, NOTHING_STARTED)).toMatchObject({
      ok: true,
      change: {
        added: [{ id: 'A-004-queue' }],
        changed: [{ id: 'B-001-schema-design', description: 'Draw it' }],
        removed: ['A-003-event-bus'],
      },
    });
  });
});

describe('a fault', () => {
  it.each<[name: string, yaml: string, faults: string[]]>([
    ['text that is not YAML', 'tracks:\n  A: [\n', ['BAD_YAML 3']],
    ['an alias', 'tracks:\n  A: &a []\n  B: *a\n', ['BAD_VALUE 3', 'BAD_YAML 3']],
    ['a tag', 'project: x\ntracks: !js {}\n', ['BAD_YAML 2']],
    ['a repeated name', 'tracks:\n  A: []\n  B: []\n  A: []\n', ['BAD_YAML 4']],
    ['a second document', 'tracks: {}\n---\ntracks: {}\n', ['BAD_YAML 2']],
    ['a name that is a list', 'tracks:\n  ? [A]\n  : []\n', ['BAD_YAML 1']],
    ['no plan at all', '', ['BAD_VALUE 1']],
    ['a plan that is a list', '- A\n', ['BAD_VALUE 1']],
    ['a plan without tracks', 'project: shop\n', ['BAD_VALUE 1']],
    ['a track that is not a list', 'project: x\ntracks:\n  A: []\n  B:\n', ['BAD_VALUE 4']],
    ['a track in lower case', 'tracks:\n  a: []\n', ['BAD_VALUE 2']],
    ['an unknown field of the plan', 'tracks: {}\nowner: me\n', ['UNKNOWN_FIELD 2']],
    [
      'an unknown field of a task',
      'tracks:\n  A:\n    - id: A-001-a\n      description: a\n      dependson: []\n',
      ['UNKNOWN_FIELD 5'],
    ],
    [
      'a forbidden field name',
      'tracks:\n  A:\n    - id: A-001-a\n      description: a\n      metadata:\n        deep: [{__proto__: 1}]\n',
      ['UNKNOWN_FIELD 6'],
    ],
    ['a missing description', 'tracks:\n  A:\n    - id: A-001-a\n      depends_on: []\n', ['BAD_VALUE 3']],
    [
      'each value of the wrong type',
      'tracks:\n  A:\n    - id: A-001-a\n      description: 12\n      priority: 1.5\n      modules: [1]\n      metadata: {a: .inf}\n',
      ['BAD_VALUE 4', 'BAD_VALUE 5', 'BAD_VALUE 6', 'BAD_VALUE 7'],
    ],
    [
      'each value out of bounds',
      'tracks:\n  A:\n    - id: A-001-a\n      description: ""\n      priority: 1001\n      subtasks: 0\n      depends_on: [B-001-b, B-001-b]\n',
      ['BAD_VALUE 4', 'BAD_VALUE 5', 'BAD_VALUE 6', 'BAD_VALUE 7'],
    ],
    [
      'an invalid subtask',
      'tracks:\n  A:\n    - id: A-001-a\n      description: a\n      subtasks:\n        - description: b\n        - descr: c\n',
      ['BAD_VALUE 7', 'UNKNOWN_FIELD 7'],
    ],
    [
      'subtasks of the wrong type',
      'tracks:\n  A:\n    - id: A-001-a\n      description: a\n      subtasks: many\n',
      ['BAD_VALUE 5'],
    ],
    ['a bad id', 'tracks:\n  A:\n    - {id: A-1-a, description: a}\n', ['BAD_ID 3']],
    ['a subtask id for a task', 'tracks:\n  A:\n    - {id: "A-001-a::1", description: a}\n', ['BAD_ID 3']],
    [
      'a bad id in depends_on',
      'tracks:\n  A:\n    - id: A-001-a\n      description: a\n      depends_on:\n        - A-001-a::0\n',
      ['BAD_ID 6'],
    ],
    [
      'a duplicate id',
      'tracks:\n  A:\n    - {id: A-001-a, description: a}\n    - {id: A-001-a, description: b}\n',
      ['DUPLICATE_ID 4'],
    ],
    [
      'a duplicate sequence number',
      'tracks:\n  A:\n    - {id: A-001-a, description: a}\n    - {id: A-001-b, description: b}\n',
      ['DUPLICATE_SEQUENCE 4'],
    ],
    ['a task of another track', 'tracks:\n  A:\n    - {id: B-001-a, description: a}\n', ['WRONG_TRACK 3']],
    [
      'an unknown dependency',
      'tracks:\n  A:\n    - {id: A-001-a, description: a, depends_on: [A-002-b]}\n',
      ['UNKNOWN_DEPENDENCY 3'],
    ],
    [
      'an unknown subtask',
      'tracks:\n  A:\n    - {id: A-001-a, description: a, subtasks: 2}\n    - {id: A-002-b, description: b, depends_on: ["A-001-a::2", "A-001-a::3"]}\n',
      ['UNKNOWN_DEPENDENCY 4'],
    ],
    [
      'a task that depends on itself',
      'tracks:\n  A:\n    - {id: A-001-a, description: a, depends_on: [A-001-a]}\n',
      ['SELF_DEPENDENCY 3'],
    ],
    [
      'a task that depends on its own subtask',
      'tracks:\n  A:\n    - {id: A-001-a, description: a, subtasks: 2, depends_on: ["A-001-a::1"]}\n',
      ['SELF_DEPENDENCY 3'],
    ],
    [
      'a subtask that depends on its own merge',
      'tracks:\n  A:\n    - id: A-001-a\n      description: a\n      subtasks: [{description: b, depends_on: [A-001-a]}]\n',
      ['CYCLE 3'],
    ],
    [
      'a cycle through an implicit dependency',
      'tracks:\n  A:\n    - id: A-001-a\n      description: a\n      depends_on: [A-002-b]\n    - {id: A-002-b, description: b}\n',
      ['CYCLE 5'],
    ],
  ])('is reported with its line: %s', (_, yaml, faults) => {
    expect(codesAndLines(yaml)).toEqual(faults);
  });

  it('also has a path and a column', () => {
    expect(faultsOf(SHOP.replace('[A-002-di-container]', '[A-001-core-framework, A-009-gone]'))).toEqual([
      {
        code: 'UNKNOWN_DEPENDENCY',
        message: 'A-003-event-bus depends on A-009-gone, which is not in the plan; add it or correct the id.',
        path: 'tracks.A[2].depends_on[1]',
        line: 13,
        column: 42,
      },
    ]);
  });

  // req: PLN-011
  it('names each cycle', () => {
    const yaml = SHOP.replace('depends_on: []', 'depends_on: [B-003-repositories]');
    const [A1, A2] = ['A-001-core-framework', 'A-002-di-container'];
    const [B2, B3] = ['B-002-entity-models', 'B-003-repositories'];
    const cycles = faultsOf(yaml).map(
      ({ code, message }) => `${code} ${/: (.*?)\. Remove/.exec(message)?.[1]}`,
    );
    expect(cycles).toEqual([`CYCLE ${A1} → ${B3} → ${B2} → ${A1}`, `CYCLE ${A1} → ${B3} → ${A2} → ${A1}`]);
  });

  it('shortens a long cycle', () => {
    const ids = Array.from({ length: 30 }, (_, index) => `A-${String(index + 1).padStart(3, '0')}-x`);
    const tasks = ids.map((id, index) => ({ id, description: id, depends_on: [ids[(index + 1) % 30]] }));
    const reading = readPlan({ json: { tracks: { A: tasks } } }, null, NOTHING_STARTED);
    expect(reading.ok ? '' : reading.faults[0]?.message).toContain('A-012-x → … 18 more … → A-001-x.');
  });

  it('names the location of the duplicate', () => {
    const yaml = 'tracks:\n  A:\n    - {id: A-001-a, description: a}\n    - {id: A-001-a, description: b}\n';
    expect(faultsOf(yaml)[0]?.message).toBe('A-001-a is also at line 3; ids must be unique.');
    const tracks = {
      A: [
        { id: 'A-001-a', description: 'a' },
        { id: 'A-001-a', description: 'b' },
      ],
    };
    const reading = readPlan({ json: { tracks } }, null, NOTHING_STARTED);
    expect(reading.ok ? [] : reading.faults).toEqual([
      {
        code: 'DUPLICATE_ID',
        message: 'A-001-a is also at tracks.A[0]; ids must be unique.',
        path: 'tracks.A[1].id',
      },
    ]);
  });

  it('does not hide others: all are reported in the order of the text', () => {
    const yaml = `tracks:
  A:
    - {id: A-000-a, description: a}
    - {id: A-002-b, description: b, depends_on: [A-003-c]}
    - {id: A-003-c, colour: red}
    - {id: C-001-d, description: d, depends_on: [Z-001-z]}
  B:
    - {id: B-001-x, description: x, depends_on: [B-002-y]}
    - {id: B-002-y, description: y}
owner: me
`;
    expect(codesAndLines(yaml)).toEqual([
      'BAD_ID 3',
      'BAD_VALUE 5',
      'UNKNOWN_FIELD 5',
      'WRONG_TRACK 6',
      'UNKNOWN_DEPENDENCY 6',
      'CYCLE 8',
      'UNKNOWN_FIELD 10',
    ]);
  });

  it('is left out after the first hundred', () => {
    const tasks = Array.from({ length: 300 }, () => ({ id: 'x', description: 'x' }));
    const reading = readPlan({ json: { tracks: { A: tasks } } }, null, NOTHING_STARTED);
    expect(reading.ok ? 0 : reading.faults.length).toBe(100);
    const depends_on = Array.from({ length: 300 }, (_, index) => `B-001-${index}`);
    const json = { tracks: { A: [{ id: 'A-001-a', description: 'a', depends_on }] } };
    const dependencyReading = readPlan({ json }, null, NOTHING_STARTED);
    expect(dependencyReading.ok ? 0 : dependencyReading.faults.length).toBe(100);
  });
});

describe('hostile input', () => {
  it.each<[string, string]>([
    ['too long', `#${'x'.repeat(PLAN_TEXT_LENGTH_MAX)}`],
    ['nested too deeply', '['.repeat(5_000)],
  ])('that is %s is refused as YAML', (_, yaml) => {
    expect(faultsOf(yaml)[0]?.code).toBe('BAD_YAML');
  });

  it('that comes as JSON and is nested deeper than the call stack allows is refused', () => {
    let metadata: unknown = 1;
    for (let depth = 0; depth < 20_000; depth++) metadata = { metadata };
    const json = { tracks: { A: [{ id: 'A-001-a', description: 'a', metadata }] } };
    expect(readPlan({ json }, null, NOTHING_STARTED)).toMatchObject({
      ok: false,
      faults: [{ code: 'BAD_VALUE' }],
    });
  });

  it.each(['__proto__', 'constructor', 'prototype'])('cannot set %s through JSON at any depth', (name) => {
    const json = JSON.parse(
      `{"tracks":{"A":[{"id":"A-001-a","description":"a","metadata":{"x":[{"${name}":{}}]}}]}}`,
    );
    expect(readPlan({ json }, null, NOTHING_STARTED)).toMatchObject({
      ok: false,
      faults: [{ code: 'UNKNOWN_FIELD', path: `tracks.A[0].metadata.x[0].${name}` }],
    });
  });

  it('that has more tasks than the limit is refused', () => {
    const tasks = Array.from({ length: 101 }, (_, index) => ({
      id: `A-${String(index + 1).padStart(3, '0')}-x`,
      description: 'x',
      subtasks: 9999,
    }));
    const reading = readPlan({ json: { tracks: { A: tasks } } }, null, NOTHING_STARTED);
    expect(reading).toMatchObject({ ok: false, faults: [{ code: 'TOO_MANY_TASKS' }] });
    const list = { tracks: { A: Array.from({ length: 1_000_001 }, () => 0) } };
    expect(readPlan({ json: list }, null, NOTHING_STARTED)).toMatchObject({
      ok: false,
      faults: [{ code: 'TOO_MANY_TASKS' }],
    });
  });
});

describe('started work', () => {
  const planYaml = (tasks: string) => `tracks:\n  A:\n    - {id: A-001-a, description: a}\n${tasks}`;
  const current = planOf({ yaml: planYaml('    - {id: A-002-b, description: b, subtasks: 3}\n') });
  const startedTask = (id: string) => startedTasksWith({ isStarted: (subject) => subject === id });

  it.each(['A-002-b', 'A-002-b::3'])('must not be removed with its task (%s)', (id) => {
    expect(faultsOf(planYaml(''), current, startedTask(id))).toMatchObject([
      { code: 'TASK_VANISHED', line: 2, message: expect.stringContaining(`${id} has a claim`) },
    ]);
    expect(faultsOf(planYaml(''), current, startedTask('A-001-a'))).toEqual([]);
  });

  it('must not be removed by a smaller number of subtasks', () => {
    const withFewerSubtasks = planYaml('    - {id: A-002-b, description: b, subtasks: 2}\n');
    expect(faultsOf(withFewerSubtasks, current, startedTask('A-002-b::3'))).toMatchObject([
      { code: 'TASK_VANISHED', line: 4 },
    ]);
    expect(faultsOf(withFewerSubtasks, current, startedTask('A-002-b::2'))).toEqual([]);
  });

  it('is not reported as removed if its task is only invalid', () => {
    const broken = planYaml('    - {id: A-002-b, subtasks: 3}\n');
    expect(faultsOf(broken, current, startedTask('A-002-b')).map((fault) => fault.code)).toEqual([
      'BAD_VALUE',
    ]);
  });

  it('gets no more subtasks once it is completed', () => {
    const withMoreSubtasks = planYaml('    - {id: A-002-b, description: b, subtasks: 4}\n');
    const done = startedTasksWith({ isCompleted: (id) => id === 'A-002-b' });
    expect(faultsOf(withMoreSubtasks, current, done)).toMatchObject([{ code: 'ALREADY_COMPLETED', line: 4 }]);
    expect(faultsOf(withMoreSubtasks, current)).toEqual([]);
  });
});

describe('a plan of 100,000 tasks', () => {
  it('is read, and then changed by one task', () => {
    const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ';
    const tracks: Record<string, object[]> = {};
    for (let taskIndex = 0; taskIndex < 100_000; taskIndex++) {
      const [trackIndex, number] = [Math.floor(taskIndex / 999), (taskIndex % 999) + 1];
      const track = `${letters[Math.floor(trackIndex / 26)]}${letters[trackIndex % 26]}`;
      tracks[track] ??= [];
      tracks[track].push({
        id: `${track}-${String(number).padStart(3, '0')}-work`,
        description: `Do ${taskIndex}`,
      });
    }
    const plan = planOf({ json: { tracks } });
    expect(plan.task_count).toBe(100_000);
    expect(dependenciesOf(plan, 'AB-002-work')).toEqual(['AB-001-work']);
    tracks.AA?.pop();
    const reading = readPlan({ json: { tracks } }, plan, NOTHING_STARTED);
    expect(reading.ok ? reading.change : reading.faults).toEqual(
      planChangeWith({ removed: ['AA-999-work'] }),
    );
  });
});
