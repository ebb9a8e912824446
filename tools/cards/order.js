card({
  render(result) {
    document.getElementById("card").textContent = JSON.stringify(result.structuredContent);
  },
});
