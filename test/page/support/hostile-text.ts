/** Markup, marks that turn the direction of the text around, and a long word: the most that a description may have. */
export const HOSTILE_DESCRIPTION = `<script>document.title='taken over'</script><img src=x onerror=alert(1)>\u202e drawkcab \u2066${'x'.repeat(1900)}`;
/** About 12 KB of the same text. */
export const HOSTILE_INSTRUCTIONS = HOSTILE_DESCRIPTION.repeat(6);
