import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { PlanInput } from '../../contract/plan.js';
import { isTaskId } from '../task-id.js';
import { slugOf } from './assign-ids.js';
import { detectPlanFormat } from './detect-format.js';
import { type CurrentPlan, type ImportFormat, importPlan } from './import-plan.js';

function importValid(text: string, format: ImportFormat = 'markdown', current?: CurrentPlan) {
  const result = importPlan(text, format, current);
  if (!result.ok) throw new Error(JSON.stringify(result.faults));
  return result;
}
const faultsOf = (text: string, format: ImportFormat = 'markdown') => {
  const result = importPlan(text, format);
  return result.ok ? [] : result.faults;
};
const currentPlanWith = (plan: PlanInput, ...started: string[]): CurrentPlan => ({
  plan,
  isStarted: (id) => started.includes(id),
});

const CHECKLIST = `# Shop

Some text that is not a task.

## Database
- [ ] Design the schema
  Use snake_case.

  Keep it small.
  - [ ] tables
  - [x] naming rules
  - [ ] indexes
- [x] Choose an engine
- [ ] Load the data (depends on Design the schema, Choose an engine)

## API endpoints
* [ ] #12 List products
      after: #1
* [ ] API-007-search: Search products
`;

describe('a Markdown checklist', () => {
  it('reads headings as tracks, items as tasks, nested items as subtasks, indented text as instructions', () => {
    const { input, mapping } = importValid(CHECKLIST);
    expect(input).toEqual({
      tracks: {
        A: [
          {
            id: 'A-001-design-the-schema',
            description: 'Design the schema',
            instructions: 'Use snake_case.\n\nKeep it small.',
            subtasks: [{ description: 'tables' }, { description: 'indexes' }],
            metadata: { original_id: 'Design the schema' },
          },
          {
            id: 'A-002-load-the-data',
            description: 'Load the data',
            depends_on: ['A-001-design-the-schema'],
            metadata: { original_id: 'Load the data' },
          },
        ],
        API: [
          {
            id: 'API-008-list-products',
            description: 'List products',
            depends_on: ['A-001-design-the-schema'],
            metadata: { original_id: '12' },
          },
          {
            id: 'API-007-search',
            description: 'Search products',
            depends_on: ['API-008-list-products'],
            metadata: { original_id: 'API-007-search' },
          },
        ],
      },
    });
    expect(
      mapping.map(({ original_id, task_id, status, line }) => [original_id, task_id, status, line]),
    ).toEqual([
      ['Design the schema', 'A-001-design-the-schema', 'new', 6],
      ['Choose an engine', null, 'done', 13],
      ['Load the data', 'A-002-load-the-data', 'new', 14],
      ['12', 'API-008-list-products', 'new', 17],
      ['API-007-search', 'API-007-search', 'new', 19],
    ]);
  });

  it('gives the same ids again, also after items were added, moved and ticked', () => {
    const first = importValid(CHECKLIST);
    const unchanged = importValid(CHECKLIST, 'markdown', currentPlanWith(first.input));
    expect(unchanged.input).toEqual(first.input);
    expect(unchanged.mapping.map(({ status }) => status)).toEqual(['kept', 'done', 'kept', 'kept', 'kept']);
    const edited = CHECKLIST.replace(
      '## Database\n',
      '## News\n- [ ] Send mail\n## Database\n- [ ] Ask a user\n',
    )
      .replace('  - [ ] tables', '  - [ ] views\n  - [x] tables')
      .replace('- [ ] Design', '- [x] Design');
    const afterEdits = importValid(
      edited,
      'markdown',
      currentPlanWith(first.input, 'A-001-design-the-schema'),
    );
    expect(afterEdits.input.tracks.B).toMatchObject([{ id: 'B-001-send-mail' }]);
    expect(afterEdits.input.tracks.A).toMatchObject([
      { id: 'A-003-ask-a-user', depends_on: [] },
      {
        id: 'A-001-design-the-schema',
        depends_on: ['A-003-ask-a-user'],
        subtasks: [{ description: 'tables' }, { description: 'indexes' }, { description: 'views' }],
      },
      { id: 'A-002-load-the-data' },
    ]);
    expect(afterEdits.removed).toEqual([]);
  });

  it('leaves out a ticked item that nobody started, and the dependencies on it', () => {
    const first = importValid(CHECKLIST);
    const ticked = CHECKLIST.replace('- [ ] Design', '- [x] Design');
    const { input, removed } = importValid(ticked, 'markdown', currentPlanWith(first.input));
    expect(input.tracks.A).toMatchObject([{ id: 'A-002-load-the-data', depends_on: [] }]);
    expect(removed).toEqual(['A-001-design-the-schema']);
  });

  it('recognises dependencies in several forms', () => {
    const forms = [
      '(depends on #1)',
      '(after: First)',
      '— depends on: First',
      'blocked by #1',
      '\n  - depends on: #1',
    ];
    for (const form of forms) {
      const { input } = importValid(`- [ ] First\n- [ ] Between\n- [ ] Last ${form}\n`);
      expect(input.tracks.A?.[2], form).toEqual({
        id: 'A-003-last',
        description: 'Last',
        depends_on: ['A-001-first'],
        metadata: { original_id: 'Last' },
      });
    }
    const { input } = importValid('- [ ] Look after the garden\n- [ ] B (depends on #1, #1 and #1)');
    expect(input.tracks.A).toMatchObject([
      { description: 'Look after the garden' },
      { depends_on: ['A-001-look-after-the-garden'] },
    ]);
  });

  it('gives equal texts different ids, and ignores code blocks', () => {
    const { mapping } = importValid('- [ ] Test\n- [ ] Test\n```\n- [ ] no task\n```\n');
    expect(mapping.map(({ original_id }) => original_id)).toEqual(['Test', 'Test (2)']);
  });

  it('names the line of each fault', () => {
    expect(faultsOf('text only')).toMatchObject([{ code: 'BAD_VALUE', line: 1 }]);
    expect(faultsOf('- [ ] A\n\n- [ ] B (after: Nothing)')).toMatchObject([
      { code: 'UNKNOWN_DEPENDENCY', line: 3 },
    ]);
    expect(faultsOf('- [ ] A (after: B)\n- [ ] B (after: A)')).toMatchObject([{ code: 'CYCLE', line: 1 }]);
    expect(faultsOf('- [ ] A-001-x: One\n- [ ] A-001-x: Two')).toMatchObject([
      { code: 'DUPLICATE_ID', line: 2 },
    ]);
    expect(faultsOf(`- [ ] ok\n- [ ] ${'x'.repeat(3000)}`)).toMatchObject([{ code: 'BAD_VALUE', line: 2 }]);
    const tooManyTasks = Array.from({ length: 1000 }, (_, index) => `- [ ] Task ${index}`).join('\n');
    expect(faultsOf(tooManyTasks)).toMatchObject([{ code: 'TOO_MANY_TASKS', line: 1000 }]);
    expect(faultsOf('x'.repeat(6 * 1024 * 1024))).toMatchObject([{ code: 'BAD_VALUE' }]);
  });
});

describe('a list of issues', () => {
  const ISSUES = [
    {
      number: 7,
      title: 'Search',
      body: 'By name.\nDepends on #5, #6 and #99',
      labels: [{ name: 'track:B' }],
      state: 'OPEN',
    },
    { number: 6, title: 'Index', body: '', labels: [], state: 'OPEN', priority: 5 },
    { number: 5, title: 'Schema', state: 'CLOSED' },
    { key: 'SHOP-1', title: 'Café öffnen', blocked_by: [6] },
  ];

  it('gives independent tasks, with the dependencies that fields and texts name', () => {
    const { input, mapping, warnings } = importValid(JSON.stringify(ISSUES), 'issues');
    expect(input.tracks).toEqual({
      B: [
        {
          id: 'B-001-search',
          description: 'Search',
          instructions: 'By name.\nDepends on #5, #6 and #99',
          depends_on: ['A-001-index'],
          metadata: { original_id: '7' },
        },
      ],
      A: [
        {
          id: 'A-001-index',
          description: 'Index',
          depends_on: [],
          priority: 5,
          metadata: { original_id: '6' },
        },
        {
          id: 'A-002-cafe-offnen',
          description: 'Café öffnen',
          depends_on: ['A-001-index'],
          metadata: { original_id: 'SHOP-1' },
        },
      ],
    });
    expect(mapping[2]).toMatchObject({ original_id: '5', task_id: null, status: 'done' });
    expect(warnings).toEqual(['7 depends on "#99", which is not in the file: the dependency was left out.']);
  });

  it('keeps the ids of issues whatever their order and title', () => {
    const first = importValid(JSON.stringify(ISSUES), 'issues');
    const edited = [
      { number: 8, title: 'New' },
      ...ISSUES.toReversed().map((issue) => ({ ...issue, title: 'Other' })),
    ];
    const { mapping } = importValid(
      JSON.stringify({ issues: edited }),
      'issues',
      currentPlanWith(first.input),
    );
    expect(mapping.map(({ original_id, task_id }) => [original_id, task_id])).toEqual([
      ['8', 'A-003-new'],
      ['SHOP-1', 'A-002-cafe-offnen'],
      ['5', null],
      ['6', 'A-001-index'],
      ['7', 'B-001-search'],
    ]);
  });

  it('names the line of each fault', () => {
    expect(faultsOf('[{"number":1}', 'issues')).toMatchObject([{ code: 'BAD_VALUE', line: 1 }]);
    expect(faultsOf('{"tracks":{}}', 'issues')).toMatchObject([{ code: 'BAD_VALUE' }]);
    expect(faultsOf(' '.repeat(5 * 1024 * 1024 + 1), 'issues')).toMatchObject([
      { code: 'BAD_VALUE', message: 'The file has over 5242880 characters. Import it in parts.' },
    ]);
    const text =
      '[\n{"number":1,"title":"A"},\n{"number":2,"title":""},\n{"number":1,"title":"B","depends_on":["x"]}]';
    expect(faultsOf(text, 'issues')).toMatchObject([
      { code: 'BAD_VALUE', line: 3 },
      { code: 'DUPLICATE_ID', line: 4 },
    ]);
    expect(faultsOf('[\n{"id":"a","title":"A","dependsOn":["b"]}]', 'issues')).toMatchObject([
      { code: 'UNKNOWN_DEPENDENCY', line: 2 },
    ]);
  });
});

it('makes a valid task id from any title', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme', maxLength: 200 }), (title) => {
      expect(isTaskId(`A-001-${slugOf(title)}`)).toBe(true);
    }),
  );
  expect(slugOf(`${'word '.repeat(20)}`)).toHaveLength(49);
});

it('never throws, whatever the text', () => {
  const line = fc.constantFrom(
    '- [ ] a',
    '  - [x] b',
    '# H',
    '```',
    '- [ ] #1 a (after: a)',
    '    after: b',
    '',
    '[',
    '{"issues":[',
  );
  fc.assert(
    fc.property(
      fc.array(line, { maxLength: 12 }),
      fc.constantFrom<ImportFormat>('markdown', 'issues'),
      (lines, format) => {
        importPlan(lines.join('\n'), format);
      },
    ),
  );
});

it('finds the format by the name of the file, then by its content', () => {
  expect(detectPlanFormat('TODO.md', '{}')).toBe('markdown');
  expect(detectPlanFormat('plan.yml', '- [ ] x')).toBe('plan');
  expect(detectPlanFormat('issues.json', ' [{"title":"x"}]')).toBe('issues');
  expect(detectPlanFormat('issues.json', '{"issues": []}')).toBe('issues');
  expect(detectPlanFormat('plan.json', '{"tracks": {}}')).toBe('plan');
  expect(detectPlanFormat('-', '# Todo\n\n- [ ] x')).toBe('markdown');
  expect(detectPlanFormat('-', 'project: shop\ntracks:\n  A: []')).toBe('plan');
});
