import { describe, expect, it, test } from 'vitest';
import type { AslChoiceState, ChoiceRule } from '../../core/engine/asl.js';
import { chosenState } from './choices.js';

const INPUT = { text: 'a', yes: true, no: false, two: 2, nothing: null, list: [{ blocks: false }] };

const choiceState = (rule: ChoiceRule, Default?: string): AslChoiceState => ({
  Type: 'Choice',
  Choices: [{ ...rule, Next: 'Chosen' }],
  ...(Default === undefined ? {} : { Default }),
});
const isChosen = (rule: ChoiceRule): boolean =>
  chosenState(choiceState(rule, 'Other'), INPUT, {}) === 'Chosen';

describe('a choice', () => {
  test.each<[boolean, ChoiceRule]>([
    [true, { Variable: '$.text', StringEquals: 'a' }],
    [false, { Variable: '$.text', StringEquals: 'b' }],
    [true, { Variable: '$.no', BooleanEquals: false }],
    [false, { Variable: '$.yes', BooleanEquals: false }],
    [true, { Variable: '$.list[0].blocks', BooleanEquals: false }],
    [true, { Variable: '$.two', NumericEquals: 2 }],
    [false, { Variable: '$.two', NumericEquals: 3 }],
    [true, { Variable: '$.two', NumericGreaterThan: 1 }],
    [false, { Variable: '$.two', NumericGreaterThan: 2 }],
    // A value of another type is not equal; it is not an error.
    [false, { Variable: '$.text', NumericGreaterThan: 0 }],
    [false, { Variable: '$.nothing', BooleanEquals: false }],
    [false, { Variable: '$.two', StringEquals: '2' }],
    [false, { Variable: '$.nothing', NumericGreaterThan: -1 }],
    [true, { Variable: '$.two', IsPresent: true }],
    [true, { Variable: '$.nothing', IsPresent: true }],
    [false, { Variable: '$.nothing', IsPresent: false }],
    [true, { Variable: '$.none.deeper', IsPresent: false }],
    [false, { Variable: '$.none', IsPresent: true }],
    [true, { Not: { Variable: '$.text', StringEquals: 'b' } }],
    [false, { Not: { Variable: '$.text', StringEquals: 'a' } }],
  ])('is %s for %j', (expected, rule) => {
    expect(isChosen(rule)).toBe(expected);
  });

  const TRUE: ChoiceRule = { Variable: '$.yes', BooleanEquals: true };
  const FALSE: ChoiceRule = { Variable: '$.no', BooleanEquals: true };
  test.each<[boolean, ChoiceRule]>([
    [true, { And: [TRUE, TRUE] }],
    [false, { And: [TRUE, FALSE] }],
    [true, { Or: [FALSE, TRUE] }],
    [false, { Or: [FALSE, FALSE] }],
    [true, { Not: { And: [TRUE, { Or: [FALSE, { Not: TRUE }] }] } }],
  ])('combines rules to %s: %j', (expected, rule) => {
    expect(isChosen(rule)).toBe(expected);
  });

  it('fails if its variable has no value', () => {
    const rule = choiceState({ Variable: '$.none', StringEquals: 'a' }, 'Other');
    expect(() => chosenState(rule, INPUT, {})).toThrow(expect.objectContaining({ name: 'States.Runtime' }));
  });

  it('does not read a variable that an earlier rule has excluded', () => {
    const unread: ChoiceRule = { Variable: '$.none', StringEquals: 'a' };
    expect(isChosen({ And: [{ Variable: '$.none', IsPresent: true }, unread] })).toBe(false);
    expect(isChosen({ Or: [{ Variable: '$.none', IsPresent: false }, unread] })).toBe(true);
  });

  it('takes the first rule that applies', () => {
    const step: AslChoiceState = {
      Type: 'Choice',
      Choices: [
        { ...FALSE, Next: 'First' },
        { ...TRUE, Next: 'Second' },
        { ...TRUE, Next: 'Third' },
      ],
    };
    expect(chosenState(step, INPUT, {})).toBe('Second');
  });

  it('takes the default if no rule applies, and fails without one', () => {
    expect(chosenState(choiceState(FALSE, 'Other'), INPUT, {})).toBe('Other');
    expect(() => chosenState(choiceState(FALSE), INPUT, {})).toThrow(
      expect.objectContaining({ name: 'States.NoChoiceMatched' }),
    );
  });

  it('reads the context', () => {
    const rule = choiceState({ Variable: '$$.Execution.Input.kind', StringEquals: 'edge' }, 'Other');
    expect(chosenState(rule, INPUT, { Execution: { Input: { kind: 'edge' } } })).toBe('Chosen');
  });
});
