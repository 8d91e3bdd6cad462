import fc from 'fast-check';

/** Generates logs as other tools write them: all dialects and all kinds of defect, in any order. */
export function foreignLogArbitrary(): fc.Arbitrary<string[]> {
  const line = fc.oneof(
    { weight: 4, arbitrary: flatLine().map((each) => JSON.stringify(each)) },
    { weight: 4, arbitrary: openLineageLine().map((each) => JSON.stringify(each)) },
    { weight: 3, arbitrary: hybridLine().map((each) => JSON.stringify(each)) },
    { weight: 1, arbitrary: brokenLine },
  );
  // Some lines are repeated exactly: tools write the same line twice.
  return fc
    .tuple(fc.array(line, { maxLength: 20 }), fc.array(fc.nat(19), { maxLength: 3 }))
    .map(([lines, repeatedIndexes]) => [...lines, ...repeatedIndexes.map((at) => lines[at] ?? '')]);
}

const timeArbitrary = fc.oneof(
  fc.constantFrom('2026-02-23T10:00:00Z', '2026-02-23T21:00:00+11:00', '2026-02-23T10:00:00.123456+00:00'),
  fc
    .date({ min: new Date('2026-01-01'), max: new Date('2026-12-31'), noInvalidDate: true })
    .map((at) => at.toISOString()),
);
const typeArbitrary = fc.constantFrom(
  'project_initialized',
  'edge_started',
  'iteration_completed',
  'edge_converged',
  'spawn_created',
  'claim_rejected',
  'review_completed',
  'intent_raised',
  'edge_claim',
  'wholly_unheard_of',
);
const edgeArbitrary = fc.constantFrom(
  'code↔unit_tests',
  'code→unit_tests',
  'design->code',
  'design',
  'closure',
  'Code -> Tests',
  '',
);
const projectArbitrary = fc.constantFrom('shop', 'shop-of-old', 'unknown', 'Shop Ünited');
const featureArbitrary = fc.constantFrom('REQ-F-AUTH-001', 'REQ-F-2', 'A#B', 'all');
const freeFields = fc.dictionary(
  fc.constantFrom(
    'iteration',
    'delta',
    'status',
    'reason',
    'edge',
    'feature',
    'agent_id',
    'held_by',
    'evaluators',
    'note',
    'imported',
  ),
  fc.jsonValue({ maxDepth: 3 }),
  { maxKeys: 5 },
);
const optionally = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: undefined });

const flatLine = () =>
  fc
    .record({
      event_type: typeArbitrary,
      timestamp: timeArbitrary,
      project: optionally(projectArbitrary),
      feature: optionally(featureArbitrary),
      edge: optionally(edgeArbitrary),
      delta: optionally(fc.integer({ min: -1, max: 9 })),
      data: optionally(fc.oneof(freeFields, fc.jsonValue({ maxDepth: 1 }))),
    })
    .chain((line) => freeFields.map((more) => ({ ...more, ...line })));

const camelCase = (snake: string) =>
  snake.replace(/(^|_)([a-z])/g, (_, __, letter: string) => letter.toUpperCase());

const openLineageLine = () =>
  fc
    .record({
      eventType: fc.constantFrom('START', 'COMPLETE', 'FAIL', 'ABORT', 'OTHER'),
      eventTime: timeArbitrary,
      spelling: fc.constantFrom('sdlc:', 'sdlc_'),
      type: optionally(typeArbitrary),
      runId: fc.oneof(fc.uuid(), fc.constantFrom('run 1', 'REQ-F-2-code')),
      payload: optionally(freeFields),
      delta: optionally(fc.integer({ min: -1, max: 9 })),
      job: fc.record({ namespace: fc.constant('shop'), name: edgeArbitrary }),
      original_data: optionally(flatLine()),
    })
    .map(({ spelling, type, runId, payload, delta, original_data, ...line }) => ({
      ...line,
      run: {
        runId,
        facets: {
          [`${spelling}event_type`]:
            type === undefined ? undefined : { type: camelCase(type), _producer: 'p' },
          [`${spelling}payload`]: payload,
          [`${spelling}delta`]: delta === undefined ? undefined : { delta },
        },
      },
      outputs: [],
      _metadata: original_data === undefined ? undefined : { original_data, migrated: true },
    }));

const hybridLine = () =>
  fc.tuple(flatLine(), openLineageLine()).map(([flat, lineage]) => ({ ...flat, ...lineage }));

const brokenLine = fc.constantFrom(
  '',
  '   ',
  '{"event_type":"x"',
  '[1,2]',
  '"text"',
  '{"timestamp":"2026-02-23"}',
  '{"event_type":"x"}',
  '\uFFFD\u0000',
);

/** Every leaf of a JSON value, as text. Names are ignored, since the envelope renames some fields. */
export function leafValuesOf(value: unknown): Set<string> {
  const leaves = new Set<string>();
  const visit = (each: unknown): void => {
    if (typeof each === 'object' && each !== null) {
      for (const inner of Object.values(each)) visit(inner);
    } else if (each !== null && each !== '' && each !== undefined) leaves.add(JSON.stringify(each));
  };
  visit(value);
  return leaves;
}
