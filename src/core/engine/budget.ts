import type { Budget, SpendLimit } from '../methodology/definition/engine-settings.js';
import type { Cost } from './check-outcome.js';

/** What a budget limits, from the narrowest to the widest. */
const BUDGET_SCOPES = ['run', 'feature', 'project', 'tenant'] as const;
type BudgetScope = (typeof BUDGET_SCOPES)[number];
export type SpentByScope = Readonly<Record<BudgetScope, Cost>>;

/**
 * The first limit that is spent, as a sentence; null if there is none. A limit is spent when it is reached. If the cost in
 * money is unknown, a limit in money counts as spent, because the cost could have reached it.
 */
export function spentLimitText(budget: Budget, spent: SpentByScope): string | null {
  for (const scope of BUDGET_SCOPES) {
    const limit = budget[scope];
    const message = limit === undefined ? null : spentScopeText(scope, limit, spent[scope]);
    if (message !== null) return message;
  }
  return null;
}

function spentScopeText(scope: BudgetScope, limit: SpendLimit, spent: Cost): string | null {
  const settingName = (unit: string): string => `budget.${scope}.${unit} in engine.yml or the edge's file`;
  const tokens = spent.input_tokens + spent.output_tokens;
  if (limit.tokens !== undefined && tokens >= limit.tokens) {
    return `The ${scope} has spent ${tokens} of ${limit.tokens} tokens; raise ${settingName('tokens')}.`;
  }
  if (limit.seconds !== undefined && spent.seconds >= limit.seconds) {
    const seconds = Math.ceil(spent.seconds);
    return `The ${scope} has spent ${seconds} of ${limit.seconds} seconds; raise ${settingName('seconds')}.`;
  }
  if (limit.usd === undefined) return null;
  if (spent.usd === null) {
    return `The ${scope} has a budget of ${limit.usd} US dollars, but what it has spent is unknown. For a model set usd_per_million_input_tokens and usd_per_million_output_tokens; a command must report its cost as JSON, such as claude --output-format json. Or remove ${settingName('usd')}.`;
  }
  if (spent.usd < limit.usd) return null;
  return `The ${scope} has spent ${dollarsText(spent.usd)} of ${limit.usd} US dollars; raise ${settingName('usd')}.`;
}

/** The amount as text, rounded because sums of fractions have inexact last digits. */
const dollarsText = (usd: number): string => String(Number(usd.toFixed(4)));
