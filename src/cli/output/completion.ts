interface CompletionCandidate {
  readonly name: string;
  readonly description: string;
}

/** A command by its path, and the words that may follow it. */
export interface CommandCompletions {
  readonly path: readonly string[];
  readonly words: readonly CompletionCandidate[];
  readonly options: readonly CompletionCandidate[];
}

const joinNames = ({ words, options }: CommandCompletions): string =>
  [...words, ...options].map(({ name }) => name).join(' ');

/** Code for bash and zsh that finds the command in the words typed so far. Here the shells differ only in `typedWords`. */
const findCommandScript = (
  commands: readonly CommandCompletions[],
  typedWords: string,
): string => `  local command="" word
  for word in ${typedWords}; do
    [[ $word == -- ]] && return 0
    case "$command $word" in
      ${commands
        .filter(({ path }) => path.length > 0)
        .map(({ path }) => `"${path.slice(0, -1).join(' ')} ${path.at(-1)}"`)
        .join(' | ')})
        command="\${command:+$command }$word" ;;
    esac
  done`;

const caseBranches = (commands: readonly CommandCompletions[], caseBody: (words: string) => string): string =>
  commands.map((command) => `    "${command.path.join(' ')}") ${caseBody(joinNames(command))} ;;`).join('\n');

const bash = (
  commands: readonly CommandCompletions[],
): string => `# gen, for bash: source <(gen completion bash)
_gen() {
${findCommandScript(commands, `"\${COMP_WORDS[@]:1:COMP_CWORD-1}"`)}
  local words=""
  case "$command" in
${caseBranches(commands, (words) => `words="${words}"`)}
  esac
  COMPREPLY=($(compgen -W "$words" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _gen gen`;

const zsh = (commands: readonly CommandCompletions[]): string => `#compdef gen
_gen() {
${findCommandScript(commands, `"\${(@)words[2,CURRENT-1]}"`)}
  case "$command" in
${caseBranches(commands, (words) => `compadd -- ${words}`)}
  esac
  _files
}
if [[ $funcstack[1] == _gen ]]; then _gen "$@"; else compdef _gen gen; fi`;

function fish(commands: readonly CommandCompletions[]): string {
  const lines = ['# gen, for fish: gen completion fish > ~/.config/fish/completions/gen.fish'];
  for (const { path, words, options } of commands) {
    const pathConditions = path.map((name) => `__fish_seen_subcommand_from ${name}`);
    const next = words.map(({ name }) => name).join(' ');
    const wordCondition = [...pathConditions, `not __fish_seen_subcommand_from ${next}`].join('; and ');
    for (const { name, description } of words)
      lines.push(`complete -c gen -n '${wordCondition}' -a ${name} -d ${quoted(description)}`);
    const optionCondition =
      pathConditions.length === 0 ? '__fish_use_subcommand' : pathConditions.join('; and ');
    for (const { name, description } of options) {
      lines.push(`complete -c gen -n '${optionCondition}' -l ${name.slice(2)} -d ${quoted(description)}`);
    }
  }
  return lines.join('\n');
}

const quoted = (text: string): string => `'${text.replace(/[\\']/g, (character) => `\\${character}`)}'`;

export const COMPLETION_SCRIPTS = { bash, zsh, fish };
