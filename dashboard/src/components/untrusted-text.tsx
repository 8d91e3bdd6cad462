/** Control characters, and invisible characters that change the direction or the meaning of the text after them. */
const HIDDEN = /[\p{Cc}\p{Cf}]/gu;
/** Line breaks, tabs, and the joiner that emoji are made with. */
const HARMLESS = new Set(['\n', '\t', '\u200d']);

/** The approximate number of characters that fit into a block without scrolling. */
const SCROLLING_FROM = 500;

export const visibleText = (text: string): string =>
  text.replace(HIDDEN, (char) =>
    HARMLESS.has(char) ? char : `\\u{${(char.codePointAt(0) ?? 0).toString(16).padStart(4, '0')}}`,
  );

/** Text that an agent, a file or a model wrote: hidden characters are shown, and it never acts as markup. */
export const UntrustedText = ({ text }: { text: string }) => (
  <span className="foreign" dir="auto">
    {visibleText(text)}
  </span>
);

/** A text of several lines. It scrolls if it is long. */
export const UntrustedBlock = ({ text }: { text: string }) => (
  <div className="foreign-block" tabIndex={text.length > SCROLLING_FROM ? 0 : undefined}>
    <UntrustedText text={text} />
  </div>
);
