import { type Command, Option } from 'commander';

interface OptionDetails {
  readonly about: string;
  readonly parse?: (text: string, earlier: never) => unknown;
  readonly choices?: readonly string[];
  readonly default?: unknown;
  readonly required?: true;
  readonly conflicts?: readonly string[];
}

/** Options by their flags. Each is a description, or a description with details such as the parser of the value. */
export type OptionTable = Readonly<Record<string, string | OptionDetails>>;

type CamelCase<Name extends string> = Name extends `${infer First}-${infer Rest}`
  ? `${First}${Capitalize<CamelCase<Rest>>}`
  : Name;
type OptionName<Flags> = Flags extends `-${string}, ${infer Long}`
  ? OptionName<Long>
  : Flags extends `--${infer Name} <${string}`
    ? CamelCase<Name>
    : Flags extends `--${infer Name}`
      ? CamelCase<Name>
      : never;
type OptionValue<Flags, Details> = Details extends { parse: (...args: never) => infer Value }
  ? Value
  : Details extends { choices: readonly (infer Choice)[] }
    ? Choice
    : Flags extends `${string}<${string}`
      ? string
      : true;
type AlwaysSet = { readonly required: true } | { readonly default: unknown };

/** The values that a command gets for a table of options. */
export type OptionsOf<Table> = {
  readonly [F in keyof Table as Table[F] extends AlwaysSet ? OptionName<F> : never]: OptionValue<F, Table[F]>;
} & {
  readonly [F in keyof Table as Table[F] extends AlwaysSet ? never : OptionName<F>]?: OptionValue<
    F,
    Table[F]
  >;
};

export function addOptions(target: Command, table: OptionTable): void {
  for (const [flags, entry] of Object.entries(table)) target.addOption(optionOf(flags, entry));
}

function optionOf(flags: string, entry: string | OptionDetails): Option {
  const details = typeof entry === 'string' ? { about: entry } : entry;
  const { about, parse, choices, required = false, conflicts = [] } = details;
  const option = new Option(flags, about).makeOptionMandatory(required).conflicts([...conflicts]);
  if (parse !== undefined) option.argParser(parse as (text: string) => unknown);
  if (choices !== undefined) option.choices(choices);
  return details.default === undefined ? option : option.default(details.default);
}
