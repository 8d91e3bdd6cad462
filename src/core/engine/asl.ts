/**
 * The part of the Amazon States Language that the compiler emits and the interpreter runs: JSONPath, no intrinsic
 * functions. https://states-language.net
 */

export interface StateMachine {
  readonly Comment?: string;
  readonly StartAt: string;
  readonly TimeoutSeconds?: number;
  readonly States: Readonly<Record<string, MachineState>>;
}

export type MachineState =
  | AslTaskState
  | AslChoiceState
  | AslParallelState
  | AslPassState
  | AslWaitState
  | AslSucceedState
  | AslFailState;

interface WithComment {
  readonly Comment?: string;
}
interface WithPaths {
  readonly InputPath?: string | null;
  readonly OutputPath?: string | null;
}
interface WithResult extends WithPaths {
  readonly Parameters?: PayloadTemplate;
  readonly ResultSelector?: PayloadTemplate;
  readonly ResultPath?: string | null;
}
type WithNextOrEnd =
  | { readonly Next: string; readonly End?: never }
  | { readonly End: true; readonly Next?: never };

/**
 * A template of JSON data, for example of the parameters of a task. If a key ends with `.$`, its value is a path, and the data
 * at this path takes its place. The path begins with `$` for the input of the state (in a `ResultSelector` for the result of
 * the task), or with `$$` for facts about the execution, such as the token of the task.
 */
export type PayloadTemplate = { readonly [key: string]: TemplateValue };
export type TemplateValue =
  | string
  | number
  | boolean
  | null
  | readonly TemplateValue[]
  | { readonly [key: string]: TemplateValue };

export interface Retrier {
  readonly ErrorEquals: readonly string[];
  readonly IntervalSeconds?: number;
  readonly MaxAttempts?: number;
  readonly BackoffRate?: number;
  readonly MaxDelaySeconds?: number;
  readonly JitterStrategy?: 'FULL' | 'NONE';
}
export interface Catcher {
  readonly ErrorEquals: readonly string[];
  readonly ResultPath?: string | null;
  readonly Next: string;
}
interface WithErrorHandling {
  readonly Retry?: readonly Retrier[];
  readonly Catch?: readonly Catcher[];
}

/**
 * A state that calls a function. `Resource` is the ARN of a function, which gets the parameters and returns the result; or
 * `arn:aws:states:::lambda:invoke.waitForTaskToken` with `FunctionName` and `Payload`: then the result is sent later,
 * together with the token of the task.
 */
export type AslTaskState = WithComment &
  WithResult &
  WithErrorHandling &
  WithNextOrEnd & {
    readonly Type: 'Task';
    readonly Resource: string;
    readonly TimeoutSeconds?: number;
    readonly HeartbeatSeconds?: number;
  };
export type AslParallelState = WithComment &
  WithResult &
  WithErrorHandling &
  WithNextOrEnd & {
    readonly Type: 'Parallel';
    readonly Branches: readonly StateMachine[];
  };
export type AslPassState = WithComment &
  WithPaths &
  WithNextOrEnd & {
    readonly Type: 'Pass';
    readonly Parameters?: PayloadTemplate;
    readonly Result?: TemplateValue;
    readonly ResultPath?: string | null;
  };
type AslWaitState = WithComment &
  WithPaths &
  WithNextOrEnd & { readonly Type: 'Wait'; readonly Seconds: number };
type AslSucceedState = WithComment & WithPaths & { readonly Type: 'Succeed' };
type AslFailState = WithComment & {
  readonly Type: 'Fail';
  readonly Error: string;
  readonly Cause?: string;
};

export interface AslChoiceState extends WithComment, WithPaths {
  readonly Type: 'Choice';
  readonly Choices: readonly (ChoiceRule & { readonly Next: string })[];
  readonly Default?: string;
}
export type ChoiceRule =
  | { readonly And: readonly ChoiceRule[] }
  | { readonly Or: readonly ChoiceRule[] }
  | { readonly Not: ChoiceRule }
  | { readonly Variable: string; readonly StringEquals: string }
  | { readonly Variable: string; readonly BooleanEquals: boolean }
  | { readonly Variable: string; readonly NumericEquals: number }
  | { readonly Variable: string; readonly NumericGreaterThan: number }
  | { readonly Variable: string; readonly IsPresent: boolean };
