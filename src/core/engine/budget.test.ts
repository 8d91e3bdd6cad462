import { describe, expect, it } from 'vitest';
import type { Budget } from '../methodology/definition/engine-settings.js';
import { type SpentByScope, spentLimitText } from './budget.js';
import { addCost, type Cost, NO_COST } from './check-outcome.js';

const NOTHING: SpentByScope = { run: NO_COST, feature: NO_COST, project: NO_COST, tenant: NO_COST };
const spentBy = (scope: keyof SpentByScope, cost: Partial<Cost>): SpentByScope => ({
  ...NOTHING,
  [scope]: { ...NO_COST, ...cost },
});

describe('a limit', () => {
  it.each<[string, Budget, SpentByScope]>([
    ['it is not set', {}, spentBy('run', { input_tokens: 1e9, usd: null, seconds: 1e9 })],
    ['nothing is spent', { run: { tokens: 1, usd: 0.01, seconds: 1 } }, NOTHING],
    ['less is spent', { run: { tokens: 10 } }, spentBy('run', { input_tokens: 5, output_tokens: 4 })],
    [
      'only another scope has spent as much',
      { run: { tokens: 10 } },
      spentBy('feature', { input_tokens: 10 }),
    ],
    [
      'the spent money is unknown, but money is not limited',
      { run: { tokens: 10 } },
      spentBy('run', { usd: null }),
    ],
    ['less time has passed', { run: { seconds: 10 } }, spentBy('run', { seconds: 9.9 })],
  ])('is not spent if %s', (_, budget, spent) => {
    expect(spentLimitText(budget, spent)).toBeNull();
  });

  it.each<[string, Budget, SpentByScope, string]>([
    [
      'input and output tokens together reach it',
      { run: { tokens: 10 } },
      spentBy('run', { input_tokens: 6, output_tokens: 4 }),
      "The run has spent 10 of 10 tokens; raise budget.run.tokens in engine.yml or the edge's file.",
    ],
    [
      'its time is over',
      { feature: { seconds: 60 } },
      spentBy('feature', { seconds: 60.2 }),
      'The feature has spent 61 of 60 seconds; raise budget.feature.seconds',
    ],
    [
      'its money is spent',
      { tenant: { usd: 0.3 } },
      spentBy('tenant', { usd: 0.1 + 0.2 }),
      'The tenant has spent 0.3 of 0.3 US dollars; raise budget.tenant.usd',
    ],
    [
      'it limits money, and the spent money is unknown',
      { project: { usd: 5 } },
      spentBy('project', addCost({ ...NO_COST, usd: 1 }, { ...NO_COST, usd: null })),
      'The project has a budget of 5 US dollars, but what it has spent is unknown. For a model set usd_per_million_input_tokens',
    ],
  ])('is spent if %s', (_, budget, spent, message) => {
    expect(spentLimitText(budget, spent)).toContain(message);
  });

  it('is reported for the narrowest scope if several scopes have reached theirs', () => {
    const budget: Budget = { tenant: { tokens: 1 }, run: { tokens: 1 } };
    const spent = {
      ...NOTHING,
      run: { ...NO_COST, input_tokens: 1 },
      tenant: { ...NO_COST, input_tokens: 1 },
    };
    expect(spentLimitText(budget, spent)).toContain('The run has spent');
  });
});
