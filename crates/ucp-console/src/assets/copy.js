// Buttons that copy the text beside them.

const said = document.createElement('p');
said.className = 'hidden';
said.setAttribute('role', 'status');
document.body.append(said);

/** Copies a text, and says so on the button and to screen readers. */
export async function copy(button, text) {
  // Pages that came without encryption have no clipboard: then the text is selected, to be copied by hand.
  if (!navigator.clipboard) {
    getSelection().selectAllChildren(button.closest('figure, dd').querySelector('code'));
    return;
  }
  await navigator.clipboard.writeText(text);
  const label = button.firstChild;
  const before = label.textContent;
  label.textContent = 'Copied';
  said.textContent = 'Copied to the clipboard';
  setTimeout(() => {
    label.textContent = before;
    said.textContent = '';
  }, 1500);
}

document.addEventListener('click', (event) => {
  const button = event.target.closest('[data-copy]');
  if (button) copy(button, button.closest('figure, dd').querySelector('code').textContent);
});
