import type { AslChoiceState, ChoiceRule } from '../../core/engine/asl.js';
import { MachineError, runtimeError } from './machine-error.js';
import { readPath } from './paths.js';

/** The state that a choice leads to. */
export function chosenState(choice: AslChoiceState, input: unknown, context: unknown): string {
  const rule = choice.Choices.find((each) => isTrue(each, { input, context }));
  const next = rule?.Next ?? choice.Default;
  if (next !== undefined) return next;
  throw new MachineError('States.NoChoiceMatched', 'No choice applies, and there is no default.');
}

function isTrue(rule: ChoiceRule, sources: { input: unknown; context: unknown }): boolean {
  if ('And' in rule) return rule.And.every((each) => isTrue(each, sources));
  if ('Or' in rule) return rule.Or.some((each) => isTrue(each, sources));
  if ('Not' in rule) return !isTrue(rule.Not, sources);
  const value = readPath(rule.Variable, sources);
  if ('IsPresent' in rule) return (value !== undefined) === rule.IsPresent;
  if (value === undefined) throw runtimeError(`The choice needs ${rule.Variable}, which has no value.`);
  if ('StringEquals' in rule) return value === rule.StringEquals;
  if ('BooleanEquals' in rule) return value === rule.BooleanEquals;
  if ('NumericEquals' in rule) return value === rule.NumericEquals;
  return typeof value === 'number' && value > rule.NumericGreaterThan;
}
